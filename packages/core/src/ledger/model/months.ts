/**
 * The months of the books, in UTC. What was used before a month's end is mostly posted a little after it: meters post once
 * an hour, and usage comes by a stream. So a month stays open for some hours, and what was used in it is entered as of
 * its last instant. After that its books are closed: what is posted later, for whatever time, is of the next month.
 */

const hourMs = 3_600_000;

/** For how long after its end a month takes in what was used in it. */
export const MONTH_STAYS_OPEN_MS = 3 * hourMs;

/**
 * This long after its end nothing can be entered in a month any more, with an hour for clocks that differ and for
 * transactions that take long to commit. Invoices and statements are made then.
 */
export const MONTH_CLOSED_AFTER_MS = MONTH_STAYS_OPEN_MS + hourMs;

/** The first instant of the month that holds this one. */
export function monthOf(at: Date): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth()));
}

export function monthAfter(month: Date): Date {
  return new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1));
}

/** As of when something is entered that had been used by `usedBy`: now, or the last instant of the month before. */
export function bookingTimeMs(usedBy: Date | undefined, nowMs: number): number {
  const monthMs = monthOf(new Date(nowMs)).getTime();
  const isOfMonthBefore = usedBy !== undefined && usedBy.getTime() <= monthMs;
  return isOfMonthBefore && nowMs < monthMs + MONTH_STAYS_OPEN_MS ? monthMs - 1 : nowMs;
}
