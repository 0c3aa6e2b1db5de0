import type { Item } from '@millrace/sdk';
import { proratePrice, usdToNano } from '@millrace/sdk/text';

/** Estimates earnings of a supplier from the machines that the marketplace lists now. Whole nano-USD. */

type Machine = Pick<Item<'listMarketplaceMachines'>, 'hardware' | 'pricing' | 'gpus_total' | 'gpus_reserved'>;

export interface MarketPrices {
  readonly gpuModel: string;
  readonly machines: number;
  readonly gpus: number;
  readonly rented: number;
  readonly lowestNano: bigint;
  readonly medianNano: bigint;
  readonly highestNano: bigint;
}

/** Prices of the listed machines by GPU model, with the most common model first. */
export function marketPrices(machines: readonly Machine[]): readonly MarketPrices[] {
  const groups = Map.groupBy(machines, ({ hardware }) => hardware.gpus[0]?.model ?? 'GPU');
  return [...groups]
    .map(([gpuModel, group]) => {
      const prices = group
        .map(({ pricing }) => usdToNano(pricing.price.amount))
        .toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
      const [lowestNano = 0n] = prices;
      return {
        gpuModel,
        machines: group.length,
        gpus: group.reduce((sum, { gpus_total: total }) => sum + total, 0),
        rented: group.reduce((sum, { gpus_reserved: reserved }) => sum + reserved, 0),
        lowestNano,
        medianNano: prices[prices.length >> 1] ?? lowestNano,
        highestNano: prices.at(-1) ?? lowestNano,
      };
    })
    .toSorted((a, b) => b.gpus - a.gpus || a.gpuModel.localeCompare(b.gpuModel));
}

/** Share of the GPUs that are rented now, in whole percent. */
export function rentedPercent({ gpus, rented }: Pick<MarketPrices, 'gpus' | 'rented'>): number {
  return gpus === 0 ? 0 : Number(proratePrice(BigInt(rented), 100n, BigInt(gpus)));
}

const millionthsPerPercent = 10_000;
const millionth = 1_000_000n;

/** Millionths of a typed percentage with at most four decimals; null if invalid. */
export function parsePercent(text: string): bigint | null {
  const trimmed = text.trim();
  if (!/^\d{1,3}(?:\.\d{1,4})?$/.test(trimmed) || Number(trimmed) > 100) return null;
  return BigInt(Math.round(Number(trimmed) * millionthsPerPercent));
}

export const HOURS_PER_MONTH = 720n;

export interface Estimate {
  /** Charges of tenants in 30 days. */
  readonly paidNano: bigint;
  readonly feeNano: bigint;
  readonly earnedNano: bigint;
}

/** Earnings in 30 days; shares are millionths. The fee is rounded up, so that the estimate is never too high. */
export function estimateEarnings(input: {
  readonly gpus: bigint;
  readonly pricePerGpuHourNano: bigint;
  readonly rentedShare: bigint;
  readonly feeShare: bigint;
}): Estimate {
  const full = input.gpus * input.pricePerGpuHourNano * HOURS_PER_MONTH;
  const paidNano = proratePrice(full, input.rentedShare, millionth);
  const feeNano = proratePrice(paidNano, input.feeShare, millionth);
  return { paidNano, feeNano, earnedNano: paidNano - feeNano };
}
