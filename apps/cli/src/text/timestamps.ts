import { UsageError } from '../framework/errors.ts';

/** Moments: as they are shown, and as they are typed. All of them in UTC, as the ledger and the days of a report are. */

/** `2026-11-14 09:30:00Z` */
export function timestampText(instant: string): string {
  return `${instant.slice(0, 19).replace('T', ' ')}Z`;
}

/** `2026-11-14` */
export function dayText(instant: string): string {
  return instant.slice(0, 10);
}

/** The moment of `2026-11-14` (its beginning) or `2026-11-14T09:30:00Z`, as the API takes it. */
export function parseTimestamp(flag: string, typed: string): string {
  const asTyped = /^\d{4}-\d{2}-\d{2}$/.test(typed) ? `${typed}T00:00:00.000Z` : typed;
  const isWhole = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/.test(
    asTyped,
  );
  const ms = isWhole ? Date.parse(asTyped) : Number.NaN;
  // Some impossible days are read as the one after them; what comes back must be what was typed.
  if (
    Number.isNaN(ms) ||
    (asTyped.endsWith('Z') && new Date(ms).toISOString().slice(0, 10) !== asTyped.slice(0, 10))
  )
    throw new UsageError(
      `${flag} is ${JSON.stringify(typed)}, which is no day like 2026-08-01 and no moment like 2026-08-01T12:00:00Z.`,
    );
  return new Date(ms).toISOString();
}

/** The days from one to another, both of them included, the newest first. */
export function daysBetween(first: string, last: string): string[] {
  const days: string[] = [];
  for (let ms = Date.parse(last); ms >= Date.parse(first); ms -= 86_400_000) {
    days.push(dayText(new Date(ms).toISOString()));
  }
  return days;
}
