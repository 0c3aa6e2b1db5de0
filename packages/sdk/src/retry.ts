import { ApiError, ConnectionError } from './errors.ts';
import type { MillraceError } from './errors.ts';
import type { OperationEntry } from './operation-entry.ts';

/** When a call is sent again, and after how long. */

/** A wait that the service asks for is honoured up to here; beyond it the caller is told and decides. */
export const maxRetryAfterMs = 60_000;

const firstDelayMs = 500;
const maxDelayMs = 8_000;

/** Whether the same call, sent again, can neither do harm nor is certain to fail the same way. */
export function mayRetry(error: MillraceError, retry: OperationEntry['retry']): boolean {
  if (error instanceof ConnectionError) return retry !== 'refusal' || wasNotSent(error);
  if (!(error instanceof ApiError)) return false;
  const { status } = error;
  if (status === 429 || status === 503) return true;
  if (retry === 'refusal') return false;
  if (error.reason === 'IDEMPOTENCY_IN_PROGRESS') return true;
  return status === 408 || status >= 500;
}

const notSentCodes: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/** No connection came about, so nobody can have begun to work. Node says so in the cause; others do not say. */
function wasNotSent(error: ConnectionError): boolean {
  for (let cause: unknown = error.cause; cause instanceof Error; { cause } = cause) {
    if ('code' in cause && notSentCodes.has(cause.code)) return true;
  }
  return false;
}

/**
 * How long to wait before attempt `attempt` (1 is the first repeat): what the service asks for, or else twice as long each
 * time, of which a random part so that many clients do not come back at once. Null: longer than anybody should wait unasked.
 */
export function retryDelayMs(
  error: MillraceError,
  {
    attempt,
    random,
    nowMs,
  }: { readonly attempt: number; readonly random: () => number; readonly nowMs: number },
): number | null {
  const requestedMs = error instanceof ApiError ? retryAfterMs(error.headers, nowMs) : null;
  if (requestedMs !== null)
    return requestedMs > maxRetryAfterMs ? null : requestedMs + random() * firstDelayMs * 0.5;
  const most = Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 1));
  return most * 0.5 + random() * most * 0.5;
}

/** `Retry-After` in either of its forms: seconds, or a date. */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const text = headers.get('retry-after');
  if (text === null || text === '') return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}
