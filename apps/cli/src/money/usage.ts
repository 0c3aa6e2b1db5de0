import type { Item } from '../sdk.ts';
import { barChart, type Bar } from '../text/bars.ts';
import { usdText } from '@millrace/sdk/text';
import { dayText, daysBetween } from '../text/timestamps.ts';

/** Draws costs as bar charts by day, model, rental, volume or key. */

export type UsageRow = Item<'getUsage'>;
export const groupings = ['day', 'model', 'rental', 'volume', 'key'] as const;
export type Grouping = (typeof groupings)[number];

const titles: Readonly<Record<Grouping, string>> = {
  day: 'by day (UTC)',
  model: 'by model',
  rental: 'by rental',
  volume: 'by volume',
  key: 'by API key',
};

export function sumOf(rows: readonly UsageRow[]): bigint {
  return rows.reduce((sum, { amountNanoUsd }) => sum + BigInt(amountNanoUsd), 0n);
}

export interface ChartOptions {
  readonly columns: number;
  readonly paint: (bar: string) => string;
}

/** A heading with the sum, and one line per row: days by date, other groups by cost. */
export function usageChart(by: Grouping, rows: readonly UsageRow[], options: ChartOptions): string[] {
  const bars = by === 'day' ? fillMissingDays(rows) : rows.map(toBar).toSorted(mostExpensiveFirst);
  return [`Spent ${titles[by]}: ${usdText(sumOf(rows))}`, ...barChart(bars, options)];
}

function toBar({ group, amountNanoUsd }: UsageRow): Bar {
  const value = BigInt(amountNanoUsd);
  return { label: group, value, text: usdText(value) };
}

const mostExpensiveFirst = (one: Bar, other: Bar): number =>
  one.value === other.value ? 0 : one.value < other.value ? 1 : -1;

/** The report omits days without cost, but a chart must show them. */
function fillMissingDays(rows: readonly UsageRow[]): Bar[] {
  const days = rows.map(({ group }) => dayText(group)).toSorted();
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return [];
  const byDay = new Map(rows.map((row) => [dayText(row.group), row]));
  return daysBetween(first, last).map((day) => {
    const row = byDay.get(day);
    return row === undefined ? { label: day, value: 0n, text: usdText(0n) } : { ...toBar(row), label: day };
  });
}
