import type { OrgId } from '@millrace/platform/ids';
import { ppm, timesUsd, type NanoUsd } from '@millrace/platform/money';
import type { FrozenPrice } from './frozen-price.ts';
import type { Price } from './prices.ts';
import { applyDiscount } from './quote.ts';
import { resolvePrice, type PricedItem } from './resolve-price.ts';

/** Computes what resources of test mode, which is free, would cost in live mode at current prices. Pure. */

export type GpuItem = Omit<PricedItem & { readonly kind: 'gpu' }, 'kind'>;
export type StorageItem = PricedItem & { readonly kind: 'volume' | 'disk' };

/** Null: the price list has no price, so it cannot be rented in live mode. */
export interface LivePriceLookup {
  readonly machine: (item: GpuItem, sold: Pick<FrozenPrice, 'quantity' | 'discountPpm'>) => NanoUsd | null;
  readonly storage: (item: StorageItem, sizeGb: number) => NanoUsd | null;
}

/** `prices`: the list prices, and the contract prices of this organisation. */
export function livePriceLookup(prices: readonly Price[], orgId: OrgId, now: Date): LivePriceLookup {
  const rateOfItem = (item: PricedItem, quantity: number): NanoUsd | null => {
    const price = resolvePrice(prices, orgId, item, now);
    return price === null ? null : timesUsd(price.price, BigInt(quantity));
  };
  return {
    machine: (item, { quantity, discountPpm }) => {
      const original = rateOfItem({ kind: 'gpu', ...item }, quantity);
      return original === null ? null : applyDiscount(original, ppm(discountPpm));
    },
    storage: rateOfItem,
  };
}
