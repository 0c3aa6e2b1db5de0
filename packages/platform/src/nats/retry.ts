import { NoRespondersError, RequestError, TimeoutError } from '@nats-io/transport-node';
import { JetStreamApiError } from '@nats-io/jetstream';
import { backoffMs, type Timer } from '../clock/index.ts';

// After a cold start the server is reachable several seconds before JetStream answers.
const maxAttempts = 8;
const serviceUnavailable = 503;
const storeFailed = 10077;

/** No answer, or an answer that says "not yet": a leader being elected, JetStream still loading. */
function isTransient(error: unknown): boolean {
  // A store that is full says 503 too, and will not have room a moment later: its caller decides what to do.
  if (error instanceof JetStreamApiError) {
    return error.status === serviceUnavailable && error.code !== storeFailed;
  }
  // What the client makes of "nobody answered". The class is not exported, so it is known by its name.
  if (error instanceof Error && error.name === 'JetStreamNotEnabled') return isTransient(error.cause);
  return error instanceof TimeoutError || error instanceof NoRespondersError || error instanceof RequestError;
}

/** Repeats a call that may be repeated, a bounded number of times and not beyond the signal. */
export async function retryTransient<T>(
  clock: Timer,
  call: () => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await call();
    } catch (error) {
      if (attempt >= maxAttempts || !isTransient(error)) throw error;
      await clock.sleep(backoffMs(100, 2_000, attempt), signal);
    }
  }
}
