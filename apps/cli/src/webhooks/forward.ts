import type { MillraceEvent } from '../sdk.ts';
import type { CliClock } from '../framework/context.ts';
import { UsageError } from '../framework/errors.ts';
import { signedHeaders } from './sign.ts';

/** Forwards events to a local program, in the format of webhook deliveries. */

export interface ForwardResult {
  readonly seq: number;
  readonly id: string;
  readonly type: string;
  /** Null without a response. */
  readonly httpStatus: number | null;
  /** Null if it was accepted. */
  readonly error: string | null;
  readonly durationMs: number;
}

export interface ForwardOptions {
  readonly url: string;
  readonly secret: string;
  readonly clock: Pick<CliClock, 'now' | 'monotonicMs'>;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Sends one delivery. Like the service, it follows no redirects and accepts only statuses from 200 to 299. */
export async function forward(event: MillraceEvent, forwarding: ForwardOptions): Promise<ForwardResult> {
  const { url, secret, clock, timeoutMs, signal } = forwarding;
  const body = JSON.stringify(event);
  const startedMs = clock.monotonicMs();
  const outcome = (httpStatus: number | null, error: string | null): ForwardResult => ({
    seq: event.seq,
    id: event.id,
    type: event.type,
    httpStatus,
    error,
    durationMs: Math.round(clock.monotonicMs() - startedMs),
  });
  try {
    const response = await forwarding.fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        ...signedHeaders(secret, { id: event.id, nowMs: clock.now().getTime(), body }),
      },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    await response.body?.cancel();
    return outcome(response.status, response.ok ? null : `responded with ${response.status}`);
  } catch (error) {
    if (signal.aborted) throw error;
    return outcome(null, failureText(error, timeoutMs));
  }
}

function failureText(error: unknown, timeoutMs: number): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no response within ${timeoutMs} ms`;
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  if (!(cause instanceof Error)) return 'no response';
  if ('code' in cause && cause.code === 'ECONNREFUSED') return 'no program listens there';
  return `no response: ${cause.message}`;
}

/** A port of this machine, or an address. */
export function parseReceiverUrl(typed: string): string {
  if (/^\d{1,5}$/.test(typed)) {
    const port = Number(typed);
    if (port >= 1 && port <= 65_535) return `http://127.0.0.1:${port}/`;
  } else if (URL.canParse(typed) && /^https?:$/.test(new URL(typed).protocol)) return typed;
  throw new UsageError(
    `URL is ${JSON.stringify(typed)}; use a port such as 3000, or an address such as http://127.0.0.1:3000/hooks.`,
  );
}
