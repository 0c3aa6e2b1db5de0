import { UsageError } from '../framework/errors.ts';

/** Formats and parses times. All are in UTC, like the ledger and the days of reports. */

/** `2026-11-14 09:30:00Z` */
export function timestampText(instant: string): string {
  return `${instant.slice(0, 19).replace('T', ' ')}Z`;
}

/** `2026-11-14` */
export function dayText(instant: string): string {
  return instant.slice(0, 10);
}

/** Parses `2026-11-14` (its start) or `2026-11-14T09:30:00Z`. */
export function parseTimestamp(flag: string, typed: string): string {
  const asTyped = /^\d{4}-\d{2}-\d{2}$/.test(typed) ? `${typed}T00:00:00.000Z` : typed;
  const isWhole = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/.test(
    asTyped,
  );
  const ms = isWhole ? Date.parse(asTyped) : Number.NaN;
  // Some impossible days parse as the next day, so the result must equal the input.
  if (
    Number.isNaN(ms) ||
    (asTyped.endsWith('Z') && new Date(ms).toISOString().slice(0, 10) !== asTyped.slice(0, 10))
  )
    throw new UsageError(
      `${flag} is ${JSON.stringify(typed)}; use a day such as 2026-08-01 or a time such as 2026-08-01T12:00:00Z.`,
    );
  return new Date(ms).toISOString();
}

/** The days from first to last, inclusive, newest first. */
export function daysBetween(first: string, last: string): string[] {
  const days: string[] = [];
  for (let ms = Date.parse(last); ms >= Date.parse(first); ms -= 86_400_000) {
    days.push(dayText(new Date(ms).toISOString()));
  }
  return days;
}
