import { Agent, request } from 'node:https';
import { DeadlineError, type Timer } from '@millrace/platform/clock';
import { msToSeconds } from '@millrace/platform/money';
import { guardedLookup, assertAddressAllowed, type NetGuard } from '@millrace/platform/net';
import { createDnsResolver } from './dns-resolver.ts';

/** One POST to a URL that a tenant named. */
export interface WebhookRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface WebhookResponse {
  /** Null when there was no answer. */
  readonly httpStatus: number | null;
  /** Null when it was accepted. For the tenant to read, so it says nothing about our inside. */
  readonly error: string | null;
  readonly durationMs: number;
}

/** Never rejects: whatever goes wrong is an outcome. */
export type SendWebhook = (posted: WebhookRequest) => Promise<WebhookResponse>;

export interface WebhookSenderOptions {
  readonly clock: Timer;
  readonly guard: NetGuard;
  /** From the look-up of the name to the end of the answer. */
  readonly timeoutMs: number;
  /** Instead of asking the name servers. */
  readonly resolve?: Parameters<typeof guardedLookup>[1];
  /** PEM. Trusted instead of the public authorities. */
  readonly ca?: string;
}

/** Of an answer, nothing but its status means anything to us. More than this is not even waited for. */
const RESPONSE_BYTES_MAX = 16_384;

/**
 * Sends deliveries. Each has a connection of its own, which is made to an address that the guard has seen and let
 * through; redirects are answers like any other, and not followed; the answer's body is thrown away.
 */
export function createWebhookSender(options: WebhookSenderOptions): SendWebhook {
  const { clock, timeoutMs, resolve = createDnsResolver() } = options;
  // It keeps no connections, only what makes the next handshake with the same receiver short.
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
    let failure: Error = new Error('closed without an answer');
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
      // Whatever becomes of the rest of the answer, the receiver has said whether it took the event.
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
    return `The receiver answered ${status}. Redirects are not followed; give the final URL.`;
  }
  return `The receiver answered ${status}.`;
}

const unknownName = 'The name of the receiver stands for no address on the public internet.';
const errorMessages: Readonly<Record<string, string>> = {
  // Which of the two it is would tell tenants what names there are inside.
  ERR_ADDRESS_FORBIDDEN: unknownName,
  ENOTFOUND: unknownName,
  EAI_AGAIN: unknownName,
  ECONNREFUSED: 'The receiver refused the connection.',
  ECONNRESET: 'The receiver closed the connection before it answered.',
  EPIPE: 'The receiver closed the connection before it answered.',
  ETIMEDOUT: 'The receiver could not be reached.',
  EHOSTUNREACH: 'The receiver could not be reached.',
  ENETUNREACH: 'The receiver could not be reached.',
};

/** In our own words alone: the library's name addresses. */
function describeFailure(error: unknown, timeoutMs: number): string {
  if (error instanceof DeadlineError) {
    return `The receiver did not answer within ${msToSeconds(timeoutMs)} seconds.`;
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = errorMessages[code];
  if (known !== undefined) return known;
  if (/CERT|ERR_TLS|ERR_SSL|SELF_SIGNED|UNABLE_TO_/.test(code)) {
    return `No secure connection could be made: ${code}.`;
  }
  return code === '' ? 'The receiver could not be reached.' : `The receiver could not be reached: ${code}.`;
}
