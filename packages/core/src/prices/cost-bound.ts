import type { OrgId } from '@millrace/platform/ids';
import { divideRoundUp } from '@millrace/platform/money';
import {
  freezeModelPrice,
  STANDARD_IMAGE_PIXEL_STEPS,
  tokensPerMillion,
  type FrozenModelPrice,
} from './inference-price.ts';
import type { Price } from './prices.ts';
import { nextChange } from './resolve-price.ts';

/** The highest cost that a model's recent prices give to its largest request. Pure. */

/** The size of a request in everything that a model can be sold by. */
export interface RequestSize {
  readonly promptTokens: bigint;
  readonly completionTokens: bigint;
  /** Width x height x steps, summed over all images. */
  readonly imagePixelSteps: bigint;
  readonly characters: bigint;
}

/** A request is charged at the price of its start, and its usage may arrive days later if the database was away. */
const costBoundWindowMs = 7 * 86_400_000;
/** Clocks of gateways may be ahead. */
const clockSkewMs = 3_600_000;

/** Prices that ended before this time are not used for the bound. */
export function costBoundStart(now: Date): Date {
  return new Date(now.getTime() - costBoundWindowMs);
}

/** By each price that counted recently for the organisation. `book`: at least its own and the list prices of the model. */
export function maxRecentCost(
  prices: readonly Price[],
  { orgId, model, now }: { readonly orgId: OrgId; readonly model: string; readonly now: Date },
  size: RequestSize,
): bigint {
  const own = prices.filter((price) => price.orgId === null || price.orgId === orgId);
  const lastMs = now.getTime() + clockSkewMs;
  let highest = 0n;
  for (
    let at: Date | null = costBoundStart(now);
    at !== null && at.getTime() <= lastMs;
    at = nextChange(own, at)
  ) {
    const cost = costOf(freezeModelPrice({ orgId, mode: 'live', prices: own, now: at }, model), size);
    if (cost > highest) highest = cost;
  }
  return highest;
}

/** Not a `NanoUsd`: the largest request at the highest price may cost more than the ledger can hold. */
function costOf(price: FrozenModelPrice, size: RequestSize): bigint {
  const rate = (text: string | null): bigint => BigInt(text ?? '0');
  const [fresh, cached] = [rate(price.promptNanoUsdPerMillion), rate(price.cachedPromptNanoUsdPerMillion)];
  const prompt = (fresh > cached ? fresh : cached) * size.promptTokens;
  const completion = rate(price.completionNanoUsdPerMillion) * size.completionTokens;
  return (
    divideRoundUp(prompt + completion, tokensPerMillion) +
    divideRoundUp(rate(price.imageNanoUsd) * size.imagePixelSteps, STANDARD_IMAGE_PIXEL_STEPS) +
    rate(price.characterNanoUsd) * size.characters
  );
}
