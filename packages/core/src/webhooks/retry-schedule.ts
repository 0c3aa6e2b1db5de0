import { secondsToMs } from '@millrace/platform/money';

/** The retry schedule of deliveries and the rule that disables webhooks. Pure functions of the time. */

const MINUTE = 60;
const HOUR = 3_600;

/** The wait after each failure; after one more the delivery fails permanently. */
export const retryWaitsMs: readonly number[] = [
  5,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
].map(secondsToMs);

/** A webhook that accepted no delivery for this long is disabled. */
export const disabledAfterMs: number = secondsToMs(5 * 24 * HOUR);

/** Waits are longer by up to this fraction, so that retries after an outage are spread. */
const JITTER = 0.2;

/** The next attempt after `failures` failures; null when the delivery failed permanently. `random` returns 0 ≤ x < 1. */
export function nextAttemptAt(failures: number, now: Date, random: () => number): Date | null {
  const waitMs = retryWaitsMs[failures - 1];
  if (waitMs === undefined) return null;
  return new Date(now.getTime() + waitMs + Math.trunc(waitMs * JITTER * random()));
}

const REMOVED_STATUS = 410;

/** The reason to disable a webhook after a failure; null to keep it enabled. */
export function reasonToDisable(
  failure: { readonly httpStatus: number | null; readonly error: string },
  failingSince: Date,
  now: Date,
): string | null {
  if (failure.httpStatus === REMOVED_STATUS) {
    return 'The receiver returned 410 Gone, so deliveries have stopped.';
  }
  if (now.getTime() - failingSince.getTime() < disabledAfterMs) return null;
  return `No delivery was accepted for five days, since ${failingSince.toISOString()}. The last one failed: ${failure.error}`;
}
