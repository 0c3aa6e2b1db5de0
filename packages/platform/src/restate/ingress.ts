import { systemClock, withDeadline, type Timer } from '../clock/index.ts';
import { assertOutsideTransaction } from '../db/index.ts';
import { envelopeHeaders, type Envelope } from '../envelope/index.ts';
import { plainConnection, type RestateConnection } from './connection.ts';
import { serviceName } from './service-name.ts';

export interface RestateIngressOptions {
  readonly url: string;
  /** The prefix of the endpoints to call. */
  readonly prefix?: string;
  /** By default, connections without TLS settings. */
  readonly connection?: RestateConnection;
  readonly clock?: Timer;
  readonly timeoutMs?: number;
}

export interface RestateSend {
  readonly service: string;
  readonly key: string;
  readonly handler: string;
  readonly payload: unknown;
  /** Sending again with the same key has no effect while Restate stores the key (one day). */
  readonly idempotencyKey: string;
  readonly envelope: Envelope;
  readonly delayMs?: number;
}

export interface RestateIngress {
  /** Resolves when Restate has accepted the call, which is then executed reliably. */
  send(call: RestateSend): Promise<{ readonly invocationId: string; readonly repeated: boolean }>;
}

/** Restate, or the proxy in front of it, refused the call. */
export class RestateIngressError extends Error {
  override readonly name = 'RestateIngressError';
  readonly status: number;

  constructor(call: Pick<RestateSend, 'service' | 'handler'>, status: number, body: string) {
    super(`Restate refused ${call.service}/${call.handler} with ${status}: ${body.slice(0, 500)}`);
    this.status = status;
  }
}

const defaultTimeoutMs = 10_000;

function urlOf(base: string, prefix: string, call: RestateSend): string {
  const path = [serviceName(prefix, call.service), call.key, call.handler, 'send']
    .map(encodeURIComponent)
    .join('/');
  const delay = call.delayMs === undefined || call.delayMs <= 0 ? '' : `?delay=${Math.ceil(call.delayMs)}ms`;
  return `${base.replace(/\/$/, '')}/${path}${delay}`;
}

/** Sends calls to Restate. The ingress has no authentication: a proxy in front of it asks for a client certificate. */
export function createRestateIngress(options: RestateIngressOptions): RestateIngress {
  const { url, prefix = '', clock = systemClock, timeoutMs = defaultTimeoutMs } = options;
  const connection = options.connection ?? plainConnection;

  async function post(call: RestateSend, signal: AbortSignal): Promise<string> {
    const response = await connection.send({
      url: urlOf(url, prefix, call),
      headers: {
        ...envelopeHeaders(call.envelope),
        'content-type': 'application/json',
        'idempotency-key': call.idempotencyKey,
      },
      body: JSON.stringify(call.payload ?? null),
      signal,
    });
    const { status, text } = response;
    if (status < 200 || status > 299) throw new RestateIngressError(call, status, text);
    return text;
  }

  return {
    async send(call) {
      assertOutsideTransaction('Restate');
      const what = `Sending ${call.service}/${call.handler}`;
      const body = await withDeadline(clock, what, timeoutMs, (signal) => post(call, signal));
      const accepted = JSON.parse(body) as { invocationId: string; status: string };
      return { invocationId: accepted.invocationId, repeated: accepted.status === 'PreviouslyAccepted' };
    },
  };
}
