import type { NanoUsd } from '@millrace/platform/money';
import {
  applyDiscount,
  resolveReserveOption,
  type GpuPriceLookup,
  type ReserveOption,
} from '../../prices/index.ts';
import type { Pool } from './offers.ts';

/** Selects the reserve options that apply to the fleet, with their prices. Pure. */

export interface ReserveOffer {
  readonly option: ReserveOption;
  /** Per GPU; the lowest price if the pools that the option applies to differ. */
  readonly originalPerHour: NanoUsd;
  readonly perHour: NanoUsd;
  /** False if no pool that the option applies to accepts new rentals now. */
  readonly enabled: boolean;
}

/**
 * The options that apply to at least one pool with a price, newest first; others would be refused. An option whose
 * pools are only disabled or full stays listed. In a region with its own option, the general one does not apply.
 */
export function listReserveOffers(
  options: readonly ReserveOption[],
  pools: readonly Pool[],
  priceOf: GpuPriceLookup,
): readonly ReserveOffer[] {
  const rivals = Map.groupBy(options, optionKey);
  const poolsByKey = Map.groupBy(pools, machineAndGpuKey);
  return options
    .flatMap((option) => {
      const { termPeriodDays } = option;
      const applies = (poolsByKey.get(machineAndGpuKey(option)) ?? []).flatMap((pool) => {
        const { machineType, gpuType, region, connectionType: networkType } = pool;
        const subject = { machineType, gpuType, region, termPeriodDays };
        const counts = resolveReserveOption(rivals.get(optionKey(option)) ?? [], subject)?.id === option.id;
        const price = counts ? priceOf({ machineType, gpuType, region, networkType }) : null;
        return price === null ? [] : { price, enabled: pool.enabled };
      });
      const lowest = lowestOf(applies.map(({ price }) => price));
      if (lowest === null) return [];
      return {
        option,
        originalPerHour: lowest,
        perHour: applyDiscount(lowest, option.discount),
        enabled: applies.some(({ enabled }) => enabled),
      };
    })
    .toSorted((one, other) => (one.option.id < other.option.id ? 1 : -1));
}

function lowestOf(prices: readonly NanoUsd[]): NanoUsd | null {
  return prices.reduce<NanoUsd | null>(
    (lowest, price) => (lowest === null || price < lowest ? price : lowest),
    null,
  );
}

function machineAndGpuKey({ machineType, gpuType }: Pick<ReserveOption, 'machineType' | 'gpuType'>): string {
  return `${machineType} ${gpuType}`;
}

function optionKey(option: ReserveOption): string {
  return `${machineAndGpuKey(option)} ${option.termPeriodDays}`;
}
