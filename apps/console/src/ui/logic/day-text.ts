/** Days and months as people write them. They are in UTC, as in the API, so they are named in UTC in every time zone. */

const text = (at: string, locale: string | undefined, options: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat(locale, { ...options, timeZone: 'UTC' }).format(new Date(at));

/** `18 Nov 2026`; accepts `2026-11-18` and timestamps. */
export function dayText(day: string, locale?: string): string {
  return text(day, locale, { dateStyle: 'medium' });
}

/** `18 Nov`, for axes. */
export function shortDayText(day: string, locale?: string): string {
  return text(day, locale, { day: 'numeric', month: 'short' });
}

/** `November 2026` */
export function monthText(day: string, locale?: string): string {
  return text(day, locale, { month: 'long', year: 'numeric' });
}
