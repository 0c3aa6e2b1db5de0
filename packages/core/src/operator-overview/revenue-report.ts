import { addUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import type { RevenueSum } from '../ledger/index.ts';

/** Sums the operator's revenue for today, for the month and by day. */

const productNames = {
  rental: 'rentals',
  volume: 'volumes',
  instance: 'instances',
  inference: 'inference',
} as const;

type ProductName = (typeof productNames)[keyof typeof productNames];

export interface Revenue {
  readonly total: NanoUsd;
  readonly products: Readonly<Record<ProductName, NanoUsd>>;
}

export interface RevenueReport {
  readonly readAt: Date;
  readonly today: Revenue;
  readonly month: Revenue;
  readonly days: readonly { readonly day: Date; readonly revenue: Revenue }[];
}

const dayMs = 86_400_000;
const DAYS_SHOWN = 31;

const dayOf = (at: Date): string => at.toISOString().slice(0, 10);

/** The last 31 days in UTC, which always include the current month. */
export function revenuePeriod(now: Date): { readonly from: Date; readonly until: Date } {
  const today = Date.parse(dayOf(now));
  return { from: new Date(today - (DAYS_SHOWN - 1) * dayMs), until: new Date(today + dayMs) };
}

export function revenueReport(sums: readonly RevenueSum[], now: Date): RevenueReport {
  const today = dayOf(now);
  const month = today.slice(0, 7);
  const days = [...new Set(sums.map(({ day }) => day))].toSorted();
  return {
    readAt: now,
    today: revenueOf(sums.filter(({ day }) => day === today)),
    month: revenueOf(sums.filter(({ day }) => day.startsWith(month))),
    days: days.map((day) => ({
      day: new Date(day),
      revenue: revenueOf(sums.filter((sum) => sum.day === day)),
    })),
  };
}

function revenueOf(sums: readonly RevenueSum[]): Revenue {
  const of = (name: ProductName): NanoUsd =>
    sums.reduce((total, sum) => (productOf(sum) === name ? addUsd(total, sum.amount) : total), zeroUsd);
  return {
    total: sums.reduce((total, { amount }) => addUsd(total, amount), zeroUsd),
    products: {
      rentals: of('rentals'),
      volumes: of('volumes'),
      instances: of('instances'),
      inference: of('inference'),
    },
  };
}

/** Only instances of suppliers pay the platform fee. */
function productOf({ product }: RevenueSum): ProductName {
  return product === null ? 'instances' : productNames[product];
}
