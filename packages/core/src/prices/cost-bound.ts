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

/** Computes the highest cost of a model's largest request at its recent prices. Pure. */

export interface RequestSize {
  readonly promptTokens: bigint;
  readonly completionTokens: bigint;
  /** Width × height × steps, summed over all images. */
  readonly imagePixelSteps: bigint;
  readonly characters: bigint;
}

/**
 * A request is charged at the price of its start, and its usage may arrive days later after an outage of the database.
 */
const costBoundWindowMs = 7 * 86_400_000;
/** The clocks of gateways may be ahead. */
const clockSkewMs = 3_600_000;

/** Prices that ended before this time do not count for the bound. */
export function costBoundStart(now: Date): Date {
  return new Date(now.getTime() - costBoundWindowMs);
}

/** `prices` must include the list prices of the model and the organisation's contract prices. */
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

/** Not a `NanoUsd`: the cost may exceed the range of the ledger. */
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
