import type { NanoUsd } from '@millrace/platform/money';
import type { FrozenPrice, LivePriceLookup } from '../../prices/index.ts';
import type { RentalSummary } from '../model/rental.ts';

/** The hourly rates of a rental of test mode if it ran in live mode; null without a live price. */
export interface LiveRates {
  readonly gpu: NanoUsd | null;
  readonly disk: NanoUsd | null;
}

type Machine = Pick<RentalSummary, 'kind' | 'gpuType' | 'region' | 'connectionType' | 'diskPrice'>;

/** Pure. Instances are sold at the price of their machine, not by the price list. */
export function liveRatesOf(
  { kind, gpuType, region, connectionType: networkType, diskPrice }: Machine,
  sold: FrozenPrice | null,
  prices: LivePriceLookup,
): LiveRates {
  return {
    gpu:
      kind === 'instance' || sold === null
        ? null
        : prices.machine({ gpuType, machineType: kind, region, networkType }, sold),
    disk: diskPrice === null ? null : prices.storage({ kind: 'disk', region }, diskPrice.quantity),
  };
}
