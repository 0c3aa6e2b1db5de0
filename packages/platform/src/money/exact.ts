import { nanoUsd, type NanoUsd } from './nano-usd.ts';
import { roundings, type Rounding } from './rounding.ts';

const msPerHour = 3_600_000n;
const tokensPerMillion = 1_000_000n;
const nanoPerCent = 10_000_000n;

/**
 * An amount not yet rounded: a fraction of nano-USD. Charges are added up in this form and rounded once, so a
 * charge does not depend on how its time was cut into pieces.
 */
export interface ExactUsd {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** What a price per hour comes to over a duration, for `quantity` of the thing. */
export function hourlyCharge(pricePerHour: NanoUsd, durationMs: number | bigint, quantity = 1n): ExactUsd {
  return {
    numerator: pricePerHour * wholeNumber(durationMs, 'durationMs') * quantity,
    denominator: msPerHour,
  };
}

/** What a price per million tokens comes to. */
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

/** The only way from a fraction to an amount. */
export function roundExact(amount: ExactUsd, rounding: Rounding): NanoUsd {
  return nanoUsd(roundings[rounding](amount.numerator, amount.denominator));
}

/**
 * What a meter has run up by now: the whole of its life at its rate, rounded down, in the tenant's favour. A posting
 * is the difference to what was posted before, so however often one looks, the sum is this. Quotes use it as well.
 */
export function meteredTotal(rateNanoUsdPerHour: NanoUsd, elapsedMs: number | bigint): NanoUsd {
  return roundExact(hourlyCharge(rateNanoUsdPerHour, elapsedMs), 'down');
}

/** For how long `budget` pays for something at this price, in whole milliseconds; null when it costs nothing. */
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
    throw new RangeError(`${name} must be a whole number; got ${value}.`);
  }
  if (value < 0) throw new RangeError(`${name} must not be negative; got ${value}.`);
  return BigInt(value);
}
