import { MONTH_STAYS_OPEN_MS } from './months.ts';

/**
 * Ids are in the order of time, but for the little by which clocks and transactions differ, and but for what is entered in
 * a month that was over already. So an index on them finds the stretch of a period, and the exact times decide within it.
 */
const idSlackMs = 3_600_000;

/** No transfer of this instant or later has a lower id. */
export function firstIdFrom(from: Date): string {
  return leastUuidAt(from.getTime() - idSlackMs);
}

/** No transfer before this instant has this id or a higher one. */
export function firstIdAfter(until: Date): string {
  return leastUuidAt(until.getTime() + MONTH_STAYS_OPEN_MS + idSlackMs);
}

/** The least UUIDv7 of a millisecond. */
function leastUuidAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
