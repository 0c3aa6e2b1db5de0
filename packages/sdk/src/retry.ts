import { ApiError, ConnectionError } from './errors.ts';
import type { MillraceError } from './errors.ts';
import type { OperationEntry } from './operation-entry.ts';

/** Decides whether and when a call is retried. */

/** Longer values of Retry-After are left to the caller. */
export const maxRetryAfterMs = 60_000;

const firstDelayMs = 500;
const maxDelayMs = 8_000;

/** Whether a retry is harmless and may succeed. */
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

/** The connection was never established, so the request was not sent. Only Node reports this, in the cause. */
function wasNotSent(error: ConnectionError): boolean {
  for (let cause: unknown = error.cause; cause instanceof Error; { cause } = cause) {
    if ('code' in cause && notSentCodes.has(cause.code)) return true;
  }
  return false;
}

/** The delay before retry `attempt`: Retry-After, or exponential backoff with jitter. Null: too long. */
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

/** `Retry-After` in either form: seconds, or a date. */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const text = headers.get('retry-after');
  if (text === null || text === '') return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}
