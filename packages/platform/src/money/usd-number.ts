import { formatUsd, nanoUsd, parseUsd, type NanoUsd } from './nano-usd.ts';

// JSON carries some prices as numbers. Below 2^23 dollars neighbouring doubles lie closer together than one
// nano-USD, so each amount has a number of its own and the way there and back is exact. Above it is not.
const exactLimitNano = 2n ** 23n * 1_000_000_000n;

function isExact(amount: bigint): boolean {
  return amount < exactLimitNano && amount > -exactLimitNano;
}

/** `1e-7` and `1e+21` are how JavaScript prints small and great numbers; this spells the small ones out. */
function plainDecimal(value: number): string {
  const [, sign = '', first = '', rest = '', exponent = '0'] =
    /^(-?)(\d)(?:\.(\d+))?e-(\d+)$/.exec(String(value)) ?? [];
  return first === '' ? String(value) : `${sign}0.${'0'.repeat(Number(exponent) - 1)}${first}${rest}`;
}

/** The amount that a number in dollars means, or null when it has more than nine decimals or is too great. */
export function fromUsdNumber(usd: number): NanoUsd | null {
  if (Object.is(usd, -0)) return nanoUsd(0n);
  const amount = parseUsd(plainDecimal(usd));
  return amount !== null && isExact(amount) ? amount : null;
}

/** The number in dollars for this amount. Throws when the number would not be exact. */
export function toUsdNumber(amount: NanoUsd): number {
  if (!isExact(amount)) {
    throw new RangeError(`${amount} nano-USD has no exact number in dollars: send it as text.`);
  }
  return toNearestUsdNumber(amount);
}

/** The nearest number in dollars, for fields that only illustrate an exact total beside them. */
export function toNearestUsdNumber(amount: NanoUsd): number {
  return Number(formatUsd(amount));
}
