import type { Item } from '@millrace/sdk';
import { usdToNano, splitBy } from '@millrace/sdk/text';

/** What was spent, by day and product. Days are days in UTC, as everywhere in the books. */

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
  /** Such as `2026-11-16`. */
  readonly day: string;
  readonly total: bigint;
  readonly byProduct: Readonly<Record<Product, bigint>>;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;

export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** From the first to the last day, those without a charge too: a chart must not leave them out. */
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

/** Products that anything was spent on, in their fixed order, so that a colour always means the same. */
export function productsIn(days: readonly SpendDay[]): readonly (typeof products)[number][] {
  return products.filter(([product]) => days.some(({ byProduct }) => byProduct[product] !== 0n));
}

export interface SpendSums {
  readonly today: bigint;
  readonly month: bigint;
  /** What the month comes to if what runs now runs on to its end. */
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
  // An hour that has begun counts whole: a projection should rather be too high.
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

/** The largest day, for the height of a chart. */
export function largestDay(days: readonly SpendDay[]): bigint {
  return days.reduce((most, { total }) => (total > most ? total : most), 0n);
}
