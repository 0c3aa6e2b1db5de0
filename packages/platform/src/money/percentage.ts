import type { ExactUsd } from './exact.ts';
import type { NanoUsd } from './nano-usd.ts';

declare const ppmBrand: unique symbol;

/** A share in parts per million: a whole number from 0 to 1 000 000. One percent is 10 000. */
export type Ppm = number & { readonly [ppmBrand]: true };

export const ppmPerWhole = 1_000_000;
const ppmPerPercent = 10_000;

/** The only constructor of the type. */
export function ppm(value: number): Ppm {
  if (!Number.isInteger(value) || value < 0 || value > ppmPerWhole) {
    throw new RangeError(
      `A share must be a whole number of 0 to ${ppmPerWhole} parts per million, but is ${value}.`,
    );
  }
  // Minus zero is an integer too, and would be printed as -0.
  return (value === 0 ? 0 : value) as Ppm;
}

/** Converts a JSON percentage exactly; null if it has more than four decimals or is not between 0 and 100. */
export function fromPercentage(percentage: number): Ppm | null {
  const value = Math.round(percentage * ppmPerPercent);
  if (!(value >= 0 && value <= ppmPerWhole) || value / ppmPerPercent !== percentage) return null;
  return ppm(value);
}

export function toPercentage(share: Ppm): number {
  return share / ppmPerPercent;
}

/** The share of an amount, before rounding. */
export function shareOf(amount: NanoUsd, part: Ppm): ExactUsd {
  return { numerator: amount * BigInt(part), denominator: BigInt(ppmPerWhole) };
}
