declare const nanoUsdBrand: unique symbol;

/** An exact amount in billionths of a US dollar. May be negative. Always fits a SQL bigint. */
export type NanoUsd = bigint & { readonly [nanoUsdBrand]: true };

export const nanoPerUsd = 1_000_000_000n;
const nanoDigits = 9;
const maxNanoUsd = 2n ** 63n - 1n;
const minNanoUsd = -(2n ** 63n);

/** The only constructor of the type. Throws if the amount does not fit the column. */
export function nanoUsd(amount: bigint): NanoUsd {
  if (amount > maxNanoUsd || amount < minNanoUsd) {
    throw new RangeError(`${amount} nano-USD is out of the range of a ledger column.`);
  }
  return amount as NanoUsd;
}

export const zeroUsd = nanoUsd(0n);

export function addUsd(...amounts: readonly NanoUsd[]): NanoUsd {
  return nanoUsd(amounts.reduce((sum: bigint, amount) => sum + amount, 0n));
}

export function subtractUsd(from: NanoUsd, amount: NanoUsd): NanoUsd {
  return nanoUsd(from - amount);
}

export function negateUsd(amount: NanoUsd): NanoUsd {
  return nanoUsd(0n - amount);
}

export function timesUsd(amount: NanoUsd, factor: bigint): NanoUsd {
  return nanoUsd(amount * factor);
}

const usdText = /^(-?)(0|[1-9][0-9]{0,15})(?:\.([0-9]{1,9}))?$/;
const nanoText = /^(0|-?[1-9][0-9]{0,18})$/;

/** Parses dollars such as `12.5` exactly. Null for other text, including more than nine decimals. */
export function parseUsd(text: string): NanoUsd | null {
  const [, sign, whole, fraction = ''] = usdText.exec(text) ?? [];
  if (whole === undefined) return null;
  const amount = BigInt(whole) * nanoPerUsd + BigInt(fraction.padEnd(nanoDigits, '0'));
  return fits(sign === '-' ? -amount : amount);
}

/** Parses a whole number of nano-USD, which is the wire format of totals. */
export function parseNanoUsd(text: string): NanoUsd | null {
  return nanoText.test(text) ? fits(BigInt(text)) : null;
}

function fits(amount: bigint): NanoUsd | null {
  return amount > maxNanoUsd || amount < minNanoUsd ? null : (amount as NanoUsd);
}

/** Dollars with two or more decimals, as many as necessary: `12.50`, `0.000000001`. */
export function formatUsd(amount: NanoUsd): string {
  const size: bigint = amount < 0n ? 0n - amount : amount;
  const digits = size.toString().padStart(nanoDigits + 1, '0');
  const fraction = digits.slice(-nanoDigits).replace(/0{1,7}$/, '');
  return `${amount < 0n ? '-' : ''}${digits.slice(0, -nanoDigits)}.${fraction}`;
}
