import { nanoUsd, type NanoUsd } from './nano-usd.ts';
import { divideRoundDown } from './rounding.ts';

/**
 * Splits an amount in proportion to the weights so that the parts add up to it exactly. Each part is less than one
 * nano-USD away from its true share. The rest after rounding goes to the largest remainders, the first of equal ones,
 * so that the result is deterministic.
 */
export function allocate(total: NanoUsd, weights: readonly bigint[]): readonly NanoUsd[] {
  const weightSum = weights.reduce((sum, weight) => sum + weight, 0n);
  if (weightSum <= 0n || weights.some((weight) => weight < 0n)) {
    throw new RangeError('Weights must not be negative, and at least one must be positive.');
  }
  const shares = weights.map((weight, index) => {
    const part = divideRoundDown(total * weight, weightSum);
    return { index, part, remainder: total * weight - part * weightSum };
  });
  const left = total - shares.reduce((sum, share) => sum + share.part, 0n);
  const luckiest = shares
    .toSorted((a, b) =>
      a.remainder === b.remainder ? a.index - b.index : a.remainder > b.remainder ? -1 : 1,
    )
    .slice(0, Number(left));
  const extra = new Set(luckiest.map((share) => share.index));
  return shares.map((share) => nanoUsd(share.part + (extra.has(share.index) ? 1n : 0n)));
}
