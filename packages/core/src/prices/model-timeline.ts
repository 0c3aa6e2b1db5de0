import type { OrgId } from '@millrace/platform/ids';
import { freezeModelPrice, type FrozenModelPrice } from './inference-price.ts';
import type { Price } from './prices.ts';
import { nextChange } from './resolve-price.ts';

/** Computes the future prices of a model, for gateways that cannot query prices for each request. Pure. */

/** A price from `fromMs` up to, but not including, `untilMs`. Null is open. */
export interface TimedModelPrice {
  readonly fromMs: number | null;
  readonly untilMs: number | null;
  readonly price: FrozenModelPrice;
}

export interface ModelPriceTimelines {
  readonly list: readonly TimedModelPrice[];
  /** All prices of each organisation with a contract; list prices fill what its contract leaves open. */
  readonly contracts: Readonly<Record<OrgId, readonly TimedModelPrice[]>>;
}

/** A limit on scheduled changes; the feed is refreshed long before it matters. */
const TIMELINE_ENTRIES_MAX = 100;

/** `prices`: all prices of this model that have not ended, of all organisations. */
export function modelTimelines(prices: readonly Price[], model: string, now: Date): ModelPriceTimelines {
  const byOwner = Map.groupBy(prices, ({ orgId }) => orgId);
  const list = byOwner.get(null) ?? [];
  const contractors = [...byOwner.keys()].filter((orgId) => orgId !== null).toSorted();
  return {
    list: timeline(list, null, model, now),
    contracts: Object.fromEntries(
      contractors.map((orgId) => [
        orgId,
        timeline([...list, ...(byOwner.get(orgId) ?? [])], orgId, model, now),
      ]),
    ),
  };
}

/** `own`: the list prices, and the contract prices of this organisation. */
function timeline(
  own: readonly Price[],
  orgId: OrgId | null,
  model: string,
  now: Date,
): readonly TimedModelPrice[] {
  const steps: TimedModelPrice[] = [];
  for (let at: Date | null = now; at !== null && steps.length < TIMELINE_ENTRIES_MAX;) {
    const price = freezeModelPrice({ orgId, mode: 'live', prices: own, now: at }, model);
    const until: Date | null = nextChange(own, at);
    const fromMs = steps.length === 0 ? null : at.getTime();
    steps.push({ fromMs, untilMs: until?.getTime() ?? null, price });
    at = until;
  }
  return steps;
}
