import { splitBy } from '@millrace/sdk/text';

/** Days in UTC as `2026-11-18`, both inclusive. */
export interface DayRange {
  readonly firstDay: string;
  readonly lastDay: string;
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** The days of a period of the API, whose end is exclusive. A period has at least the day of its start. */
export function daysOfPeriod({ from, until }: { readonly from: string; readonly until: string }): DayRange {
  const [first, end] = [Date.parse(from), Date.parse(until)];
  return { firstDay: dayOf(first), lastDay: dayOf(Math.max(first, end - 1)) };
}

/** The amount of each day for a chart, in dollars; zero for days without an amount. Approximate: only tables are exact. */
export function dailyUsd(
  nanoByDay: ReadonlyMap<string, string>,
  { firstDay, lastDay }: DayRange,
): { readonly seconds: readonly number[]; readonly usd: readonly number[] } {
  const seconds: number[] = [];
  const usd: number[] = [];
  const [first] = splitBy(Date.parse(firstDay), 1000);
  const [last] = splitBy(Date.parse(lastDay), 1000);
  for (let second = first; second <= last; second += 86_400) {
    seconds.push(second);
    usd.push(Number(nanoByDay.get(dayOf(second * 1000)) ?? '0') * 1e-9);
  }
  return { seconds, usd };
}
