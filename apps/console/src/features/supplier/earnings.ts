import type { Output } from '@millrace/sdk';
import { dailyUsd, type DayRange } from '../../ui/logic/daily-usd.ts';

type Day = Output<'supplierGetEarnings'>['days'][number];

const dayMs = 86_400_000;
const isDay = (text: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));

/** Converts the days of the URL to a period whose end is exclusive. Null: the end is before the start. */
export function earningsPeriod(search: {
  readonly from?: string | undefined;
  readonly until?: string | undefined;
}): { readonly from?: string; readonly until?: string } | null {
  const from = search.from !== undefined && isDay(search.from) ? Date.parse(search.from) : null;
  const until = search.until !== undefined && isDay(search.until) ? Date.parse(search.until) + dayMs : null;
  if (from !== null && until !== null && from >= until) return null;
  return {
    ...(from === null ? {} : { from: new Date(from).toISOString() }),
    ...(until === null ? {} : { until: new Date(until).toISOString() }),
  };
}

/** Bars for every day of the period, also without earnings; rounded, unlike the table. */
export function dayChart(
  days: readonly Day[],
  range: DayRange,
): {
  readonly seconds: readonly number[];
  readonly series: readonly { readonly label: string; readonly values: readonly number[] }[];
} {
  const nanoByDay = new Map(days.map(({ day, earnedNanoUsd }) => [day.slice(0, 10), earnedNanoUsd]));
  const { seconds, usd } = dailyUsd(nanoByDay, range);
  return { seconds, series: [{ label: 'Earned', values: usd }] };
}
