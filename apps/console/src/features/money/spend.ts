import type { Item } from '@millrace/sdk';
import { usdText, usdToNano, splitBy } from '@millrace/sdk/text';
import { scaleTicks, tickLabels } from '../../ui/chart/scale.ts';

/** Groups spending by UTC day and product. */

export type UsageRow = Item<'getUsage'>;

export const products = [
  ['rentals', 'Rentals'],
  ['volumes', 'Volumes'],
  ['instances', 'Marketplace'],
  ['inference', 'Inference'],
  ['other', 'Other'],
] as const;

export type Product = (typeof products)[number][0];

export interface SpendDay {
  /** For example `2026-11-16`. */
  readonly day: string;
  readonly total: bigint;
  readonly byProduct: Readonly<Record<Product, bigint>>;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;

export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Includes days without charges, so that a chart shows them. */
export function spendByDay(rows: readonly UsageRow[], fromMs: number, untilMs: number): readonly SpendDay[] {
  const byDay = new Map(rows.map((row) => [row.group, row]));
  const days: SpendDay[] = [];
  const last = dayOf(untilMs);
  for (let at = Date.parse(dayOf(fromMs)); dayOf(at) <= last; at += dayMs) {
    const day = dayOf(at);
    const row = byDay.get(day);
    days.push({
      day,
      total: BigInt(row?.amountNanoUsd ?? '0'),
      byProduct: {
        rentals: BigInt(row?.products.rentals ?? '0'),
        volumes: BigInt(row?.products.volumes ?? '0'),
        instances: BigInt(row?.products.instances ?? '0'),
        inference: BigInt(row?.products.inference ?? '0'),
        other: BigInt(row?.products.other ?? '0'),
      },
    });
  }
  return days;
}

/** Products with spending, in a fixed order so that each keeps its colour. */
export function productsIn(days: readonly SpendDay[]): readonly (typeof products)[number][] {
  return products.filter(([product]) => days.some(({ byProduct }) => byProduct[product] !== 0n));
}

export interface SpendSums {
  readonly today: bigint;
  readonly month: bigint;
  /** Month total if everything keeps running. */
  readonly projected: bigint;
  readonly hoursLeft: number;
}

export function monthStart(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
}

export function spendSums(days: readonly SpendDay[], burnRateUsdPerHour: number, nowMs: number): SpendSums {
  const today = dayOf(nowMs);
  const month = today.slice(0, 7);
  const now = new Date(nowMs);
  const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
  // Count a started hour as whole: a projection should not be too low.
  const [whole, rest] = splitBy(end - nowMs, hourMs);
  const hoursLeft = whole + (rest > 0 ? 1 : 0);
  const spent = days.filter(({ day }) => day.startsWith(month)).reduce((sum, { total }) => sum + total, 0n);
  return {
    today: days.find(({ day }) => day === today)?.total ?? 0n,
    month: spent,
    projected: spent + usdToNano(burnRateUsdPerHour) * BigInt(hoursLeft),
    hoursLeft,
  };
}

/** Round amounts for the grid lines of the chart, the highest first and at least the highest day. */
export function spendScale(days: readonly SpendDay[]): {
  readonly top: bigint;
  readonly labels: readonly string[];
} {
  const most = days.reduce((high, { total }) => (total > high ? total : high), 0n);
  // Below a millionth of a dollar, lines would be less than a nano-USD apart.
  const ticks = scaleTicks(Math.max(Number(most) * 1e-9, 1e-6), 'decimal').map(usdToNano);
  return { top: ticks.at(-1) ?? 0n, labels: tickLabels(ticks.map(usdText)).toReversed() };
}
