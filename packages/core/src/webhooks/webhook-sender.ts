import { Agent, request } from 'node:https';
import { DeadlineError, type Timer } from '@millrace/platform/clock';
import { msToSeconds } from '@millrace/platform/money';
import { guardedLookup, assertAddressAllowed, type NetGuard } from '@millrace/platform/net';
import { createDnsResolver } from './dns-resolver.ts';

export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WebhookResponse {
  /** Null when there was no response. */
  readonly httpStatus: number | null;
  /** Null when the delivery was accepted. Tenants read it, so it must not describe the internal network. */
  readonly error: string | null;
  readonly durationMs: number;
}

/** Never rejects: a failure is also a response. */
export type SendWebhook = (posted: WebhookRequest) => Promise<WebhookResponse>;

export interface WebhookSenderOptions {
  readonly clock: Timer;
  readonly guard: NetGuard;
  /** From the DNS query to the end of the response. */
  readonly timeoutMs: number;
  /** Replaces the query of name servers. */
  readonly resolve?: Parameters<typeof guardedLookup>[1];
  /** PEM. Trusted instead of the public certificate authorities. */
  readonly ca?: string;
}

/** Only the status of a response matters. Longer bodies are cut off. */
const RESPONSE_BYTES_MAX = 16_384;

/** Opens a new connection for each delivery, to an address that the guard has allowed. Redirects are not followed. */
export function createWebhookSender(options: WebhookSenderOptions): SendWebhook {
  const { clock, timeoutMs, resolve = createDnsResolver() } = options;
  // The agent keeps no connections, only TLS sessions for faster handshakes.
  const agent = new Agent({ keepAlive: false });
  return async (posted) => {
    const startedMs = clock.monotonicMs();
    const response = (httpStatus: number | null, error: string | null): WebhookResponse => ({
      httpStatus,
      error,
      durationMs: Math.max(0, Math.round(clock.monotonicMs() - startedMs)),
    });
    try {
      const status = await requestStatus({ ...options, resolve }, agent, posted);
      return response(status, problemWithStatus(status));
    } catch (error) {
      return response(null, describeFailure(error, timeoutMs));
    }
  };
}

async function requestStatus(
  options: WebhookSenderOptions,
  agent: Agent,
  posted: WebhookRequest,
): Promise<number> {
  const { clock, guard, timeoutMs, ca } = options;
  const url = new URL(posted.url);
  assertAddressAllowed(guard, url.hostname);
  return new Promise((resolve, reject) => {
    let status: number | null = null;
    let failure: Error = new Error('closed without a response');
    const sending = request(url, {
      method: 'POST',
      headers: { ...posted.headers, 'content-length': String(Buffer.byteLength(posted.body)) },
      agent,
      lookup: guardedLookup(guard, options.resolve),
      ...(ca === undefined ? {} : { ca }),
    });
    const cancel = clock.after(timeoutMs, () =>
      sending.destroy(new DeadlineError('The receiver', timeoutMs)),
    );
    sending.on('response', (response) => {
      status = response.statusCode ?? 0;
      let bytes = 0;
      // The status says whether the receiver accepted the event, even if the rest of the response fails.
      response.on('error', () => undefined);
      response.on('data', (part: Buffer) => {
        bytes += part.length;
        if (bytes > RESPONSE_BYTES_MAX) sending.destroy();
      });
    });
    sending.on('error', (error) => (failure = error));
    sending.on('close', () => {
      cancel();
      if (status === null) reject(failure);
      else resolve(status);
    });
    sending.end(posted.body);
  });
}

function problemWithStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) {
    return `The receiver returned ${status}. Redirects are not followed; use the final URL.`;
  }
  return `The receiver returned ${status}.`;
}

const unknownName = 'The host name of the receiver has no address on the public internet.';
const errorMessages: Readonly<Record<string, string>> = {
  // One message for both cases: a distinction would reveal internal names to tenants.
  ERR_ADDRESS_FORBIDDEN: unknownName,
  ENOTFOUND: unknownName,
  EAI_AGAIN: unknownName,
  ECONNREFUSED: 'The receiver refused the connection.',
  ECONNRESET: 'The receiver closed the connection without a response.',
  EPIPE: 'The receiver closed the connection without a response.',
  ETIMEDOUT: 'The receiver could not be reached.',
  EHOSTUNREACH: 'The receiver could not be reached.',
  ENETUNREACH: 'The receiver could not be reached.',
};

/** Own messages, because those of libraries contain addresses. */
function describeFailure(error: unknown, timeoutMs: number): string {
  if (error instanceof DeadlineError) {
    return `The receiver did not respond within ${msToSeconds(timeoutMs)} seconds.`;
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = errorMessages[code];
  if (known !== undefined) return known;
  if (/CERT|ERR_TLS|ERR_SSL|SELF_SIGNED|UNABLE_TO_/.test(code)) {
    return `The TLS connection failed: ${code}.`;
  }
  return code === '' ? 'The receiver could not be reached.' : `The receiver could not be reached: ${code}.`;
}
