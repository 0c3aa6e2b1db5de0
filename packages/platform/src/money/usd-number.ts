import { formatUsd, nanoUsd, parseUsd, type NanoUsd } from './nano-usd.ts';

// Below 2^23 dollars neighbouring doubles are closer than one nano-USD, so the conversion is exact.
const exactLimitNano = 2n ** 23n * 1_000_000_000n;

function isExact(amount: bigint): boolean {
  return amount < exactLimitNano && amount > -exactLimitNano;
}

/** JavaScript prints small numbers as `1e-7`; this returns them as decimals. */
function plainDecimal(value: number): string {
  const [, sign = '', first = '', rest = '', exponent = '0'] =
    /^(-?)(\d)(?:\.(\d+))?e-(\d+)$/.exec(String(value)) ?? [];
  return first === '' ? String(value) : `${sign}0.${'0'.repeat(Number(exponent) - 1)}${first}${rest}`;
}

/** The amount of a number in dollars; null if it has more than nine decimals or is too large. */
export function fromUsdNumber(usd: number): NanoUsd | null {
  if (Object.is(usd, -0)) return nanoUsd(0n);
  const amount = parseUsd(plainDecimal(usd));
  return amount !== null && isExact(amount) ? amount : null;
}

/** The number in dollars. Throws if it would not be exact. */
export function toUsdNumber(amount: NanoUsd): number {
  if (!isExact(amount)) {
    throw new RangeError(`${amount} nano-USD has no exact number in dollars: send it as text.`);
  }
  return toNearestUsdNumber(amount);
}

/** The nearest number in dollars, for fields that only illustrate an exact total. */
export function toNearestUsdNumber(amount: NanoUsd): number {
  return Number(formatUsd(amount));
}
