import type { ExactUsd } from './exact.ts';
import type { NanoUsd } from './nano-usd.ts';

declare const ppmBrand: unique symbol;

/** A share in parts per million: a whole number from 0 to 1 000 000. One percent is 10 000 of them. */
export type Ppm = number & { readonly [ppmBrand]: true };

export const ppmPerWhole = 1_000_000;
const ppmPerPercent = 10_000;

/** The one door into the type. */
export function ppm(value: number): Ppm {
  if (!Number.isInteger(value) || value < 0 || value > ppmPerWhole) {
    throw new RangeError(`A share is a whole number of 0 to ${ppmPerWhole} parts per million; got ${value}.`);
  }
  // Minus zero is an integer too, and prints as one.
  return (value === 0 ? 0 : value) as Ppm;
}

/**
 * The share that a percentage in JSON means, exactly: null when it has more than four decimals, is not between 0 and
 * 100, or is no number at all. A decimal and the nearest double to it name each other, so nothing is lost on the way.
 */
export function fromPercentage(percentage: number): Ppm | null {
  const value = Math.round(percentage * ppmPerPercent);
  if (!(value >= 0 && value <= ppmPerWhole) || value / ppmPerPercent !== percentage) return null;
  return ppm(value);
}

export function toPercentage(share: Ppm): number {
  return share / ppmPerPercent;
}

/** That share of an amount, not yet rounded. */
export function shareOf(amount: NanoUsd, part: Ppm): ExactUsd {
  return { numerator: amount * BigInt(part), denominator: BigInt(ppmPerWhole) };
}
