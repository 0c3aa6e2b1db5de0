import { MONTH_STAYS_OPEN_MS } from './months.ts';

/**
 * Transfer ids are ordered by time, except for clock differences, long transactions and late postings of an ended
 * month. So an index on ids finds the range of a period, and exact times decide within it.
 */
const idSlackMs = 3_600_000;

/** The lowest id that a transfer of this instant or later can have. */
export function firstIdFrom(from: Date): string {
  return leastUuidAt(from.getTime() - idSlackMs);
}

/** An id above those of all transfers before this instant. */
export function firstIdAfter(until: Date): string {
  return leastUuidAt(until.getTime() + MONTH_STAYS_OPEN_MS + idSlackMs);
}

function leastUuidAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
