import {
  NoRespondersError,
  PermissionViolationError,
  RequestError,
  TimeoutError,
} from '@nats-io/transport-node';
import { JetStreamApiError } from '@nats-io/jetstream';
import { backoffMs, type Timer } from '../clock/index.ts';

// After a cold start the server accepts connections several seconds before JetStream responds.
const maxAttempts = 8;
const serviceUnavailable = 503;
const storeFailed = 10077;

/** No response, or a temporary refusal: a leader is being elected, or JetStream is still loading. */
function isTransient(error: unknown): boolean {
  if (error instanceof Error && error.cause instanceof PermissionViolationError) return false;
  // A full store responds 503 too, but will not have space soon; the caller decides.
  if (error instanceof JetStreamApiError) {
    return error.status === serviceUnavailable && error.code !== storeFailed;
  }
  // The client's error for a missing response. Its class is not exported, so it is recognised by name.
  if (error instanceof Error && error.name === 'JetStreamNotEnabled') return isTransient(error.cause);
  return error instanceof TimeoutError || error instanceof NoRespondersError || error instanceof RequestError;
}

/** Retries an idempotent call a limited number of times, until the signal aborts. */
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
