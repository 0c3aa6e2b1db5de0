import { secondsToMs } from '@millrace/platform/money';

/** When a delivery that failed is tried again, and when a webhook is given up. Nothing here knows the time. */

const MINUTE = 60;
const HOUR = 3_600;

/** The wait after each failure in turn; after one more the delivery is given up. */
export const retryWaitsMs: readonly number[] = [
  5,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
].map(secondsToMs);

/** A webhook that accepted nothing for this long is switched off. */
export const disabledAfterMs: number = secondsToMs(5 * 24 * HOUR);

/** A wait is longer by up to this part of it, so that the retries after one outage do not all come at once. */
const JITTER = 0.2;

/** When to try again after so many failures, this one included; null: it is given up. `random` is 0 or more and below 1. */
export function nextAttemptAt(failures: number, now: Date, random: () => number): Date | null {
  const waitMs = retryWaitsMs[failures - 1];
  if (waitMs === undefined) return null;
  return new Date(now.getTime() + waitMs + Math.trunc(waitMs * JITTER * random()));
}

const REMOVED_STATUS = 410;

/** Why a webhook is switched off after a failure; null: it is not, yet. */
export function reasonToDisable(
  failure: { readonly httpStatus: number | null; readonly error: string },
  failingSince: Date,
  now: Date,
): string | null {
  if (failure.httpStatus === REMOVED_STATUS) {
    return 'The receiver answered 410 Gone, which asks for no more deliveries.';
  }
  if (now.getTime() - failingSince.getTime() < disabledAfterMs) return null;
  return `No delivery was accepted for five days, since ${failingSince.toISOString()}. The last one failed: ${failure.error}`;
}
