import type { OrgId } from '@millrace/platform/ids';
import { freezeModelPrice, type FrozenModelPrice } from './inference-price.ts';
import type { Price } from './prices.ts';
import { nextChange } from './resolve-price.ts';

/** What a model costs from now on, worked out ahead: for whoever cannot ask the price book at every request. Pure. */

/** A price with the time in which it counts: from one instant up to, not including, another. Null is open. */
export interface TimedModelPrice {
  readonly fromMs: number | null;
  readonly untilMs: number | null;
  readonly price: FrozenModelPrice;
}

export interface ModelPriceTimelines {
  readonly list: readonly TimedModelPrice[];
  /** For each organisation with a contract all that it pays, list prices included where its contract says nothing. */
  readonly contracts: Readonly<Record<OrgId, readonly TimedModelPrice[]>>;
}

/** Further ahead nobody plans; whoever hands them on asks again long before. */
const TIMELINE_ENTRIES_MAX = 100;

/** `book`: the prices of this model that have not ended, of everyone. */
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
