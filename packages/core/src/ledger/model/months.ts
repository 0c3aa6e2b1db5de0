/**
 * Defines the accounting months, in UTC. Meters post hourly and usage arrives by a stream, so a month stays open for some
 * hours and late usage is recorded at its last instant. After that, postings belong to the next month.
 */

const hourMs = 3_600_000;

/** How long after its end a month still accepts its usage. */
export const MONTH_STAYS_OPEN_MS = 3 * hourMs;

/**
 * This long after its end nothing can be recorded in a month: one more hour for clock differences and long transactions.
 * Invoices and statements are created then.
 */
export const MONTH_CLOSED_AFTER_MS = MONTH_STAYS_OPEN_MS + hourMs;

/** The first instant of the month of this time. */
export function monthOf(at: Date): Date {
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth()));
}

export function monthAfter(month: Date): Date {
  return new Date(Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1));
}

/** The recorded time of usage that ended at `usedBy`: now, or the last instant of the previous month. */
export function bookingTimeMs(usedBy: Date | undefined, nowMs: number): number {
  const monthMs = monthOf(new Date(nowMs)).getTime();
  const isOfMonthBefore = usedBy !== undefined && usedBy.getTime() <= monthMs;
  return isOfMonthBefore && nowMs < monthMs + MONTH_STAYS_OPEN_MS ? monthMs - 1 : nowMs;
}
