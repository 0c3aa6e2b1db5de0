import { nanoUsd, type NanoUsd } from './nano-usd.ts';
import { roundings, type Rounding } from './rounding.ts';

const msPerHour = 3_600_000n;
const tokensPerMillion = 1_000_000n;
const nanoPerCent = 10_000_000n;

/** A fraction of nano-USD. Charges are summed exactly and rounded once, however their time was divided. */
export interface ExactUsd {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** The cost of `quantity` units over a duration. */
export function hourlyCharge(pricePerHour: NanoUsd, durationMs: number | bigint, quantity = 1n): ExactUsd {
  return {
    numerator: pricePerHour * wholeNumber(durationMs, 'durationMs') * quantity,
    denominator: msPerHour,
  };
}

export function tokenCharge(pricePerMillionTokens: NanoUsd, tokens: number | bigint): ExactUsd {
  return { numerator: pricePerMillionTokens * wholeNumber(tokens, 'tokens'), denominator: tokensPerMillion };
}

export function addExact(left: ExactUsd, right: ExactUsd): ExactUsd {
  if (left.denominator === right.denominator) {
    return { numerator: left.numerator + right.numerator, denominator: left.denominator };
  }
  return {
    numerator: left.numerator * right.denominator + right.numerator * left.denominator,
    denominator: left.denominator * right.denominator,
  };
}

/** The only conversion from a fraction to an amount. */
export function roundExact(amount: ExactUsd, rounding: Rounding): NanoUsd {
  return nanoUsd(roundings[rounding](amount.numerator, amount.denominator));
}

/**
 * The total cost of a meter from its start to now, rounded down in the tenant's favour. A posting is the difference to
 * the amount already posted, so any number of postings adds up to this total. Quotes use it as well.
 */
export function meteredTotal(rateNanoUsdPerHour: NanoUsd, elapsedMs: number | bigint): NanoUsd {
  return roundExact(hourlyCharge(rateNanoUsdPerHour, elapsedMs), 'down');
}

/** How long `budget` pays this price, in whole milliseconds; null if the price is zero. */
export function affordableMs(budget: NanoUsd, pricePerHour: NanoUsd): bigint | null {
  if (pricePerHour <= 0n) return null;
  return budget <= 0n ? 0n : roundings.down(budget * msPerHour, pricePerHour);
}

export function toCents(amount: NanoUsd, rounding: Rounding): bigint {
  return roundings[rounding](amount, nanoPerCent);
}

export function fromCents(cents: bigint): NanoUsd {
  return nanoUsd(cents * nanoPerCent);
}

function wholeNumber(value: number | bigint, name: string): bigint {
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new RangeError(`${name} must be a whole number, but is ${value}.`);
  }
  if (value < 0) throw new RangeError(`${name} must not be negative, but is ${value}.`);
  return BigInt(value);
}
