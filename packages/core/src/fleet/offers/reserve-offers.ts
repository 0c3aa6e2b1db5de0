import type { NanoUsd } from '@millrace/platform/money';
import {
  applyDiscount,
  resolveReserveOption,
  type GpuPriceLookup,
  type ReserveOption,
} from '../../prices/index.ts';
import type { Pool } from './offers.ts';

/** Which terms can be reserved, and for how much. Pure. */

export interface ReserveOffer {
  readonly option: ReserveOption;
  /** Of one GPU, the lowest where what it applies to differs in price. */
  readonly originalPerHour: NanoUsd;
  readonly perHour: NanoUsd;
  /** False: nothing that it applies to is open for new work now. */
  readonly enabled: boolean;
}

/**
 * The options that apply to at least one pool with a price, newest first. A term is sold with a machine: one for
 * machines that the fleet does not have, or that have no price, would be refused. One that is only switched off or full
 * at the moment stays listed. Where one for the region stands beside one for all, only the former applies there.
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
