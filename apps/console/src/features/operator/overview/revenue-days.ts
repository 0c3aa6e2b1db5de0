import { dayOf, type SpendDay } from '../../money/spend.ts';
import type { AdminOverview } from './operator-attention.ts';

const dayMs = 86_400_000;
const DAYS_SHOWN = 31;

/** The last 31 days with the revenue of each product, for the chart. Days without revenue are zero. */
export function revenueDays(days: AdminOverview['revenue']['days'], nowMs: number): readonly SpendDay[] {
  const byDay = new Map(days.map((day) => [day.day.slice(0, 10), day]));
  return Array.from({ length: DAYS_SHOWN }, (_, index) => {
    const day = dayOf(nowMs - (DAYS_SHOWN - 1 - index) * dayMs);
    const known = byDay.get(day);
    return {
      day,
      total: BigInt(known?.totalNanoUsd ?? '0'),
      byProduct: {
        rentals: BigInt(known?.products.rentals ?? '0'),
        volumes: BigInt(known?.products.volumes ?? '0'),
        instances: BigInt(known?.products.instances ?? '0'),
        inference: BigInt(known?.products.inference ?? '0'),
        other: 0n,
      },
    };
  });
}
