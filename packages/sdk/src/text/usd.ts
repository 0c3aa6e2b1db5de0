/** Formats and parses money, exact to the nano-USD as in the ledger. Shows at least two decimals. */

const decimals = 9;

function grouped(whole: string): string {
  const groups: string[] = [];
  for (let end = whole.length; end > 0; end -= 3) groups.unshift(whole.slice(Math.max(0, end - 3), end));
  return groups.join(',');
}

/** `$1,234.50`, `-$0.000000012`. Accepts nano-USD as the API sends it. */
export function usdText(nanoUsd: string | bigint): string {
  const amount = BigInt(nanoUsd);
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0');
  const fraction = digits
    .slice(-decimals)
    .replace(/(?<!0)0+$/, '')
    .padEnd(2, '0');
  return `${amount < 0n ? '-' : ''}$${grouped(digits.slice(0, -decimals))}.${fraction}`;
}

/** A change of a balance: `+$5.00` or `-$0.25`. */
export function signedUsd(nanoUsd: string | bigint): string {
  return BigInt(nanoUsd) > 0n ? `+${usdText(nanoUsd)}` : usdText(nanoUsd);
}

/** Nano-USD of a number of dollars. Nine decimals are exact below nine million dollars. */
export function usdToNano(dollars: number): bigint {
  return BigInt(dollars.toFixed(decimals).replace('.', ''));
}

export function usdNumberText(dollars: number): string {
  return usdText(usdToNano(dollars));
}

/** A rate: `$2.49/h`. */
export function perHourText(dollarsPerHour: number): string {
  return `${usdNumberText(dollarsPerHour)}/h`;
}

/** The nano-USD of a typed amount: `12.50`, `$1,000`, `0.000001`; null if invalid. */
export function parseUsd(text: string): bigint | null {
  const match = /^(?<sign>-?)\$?(?<whole>\d{1,3}(?:,\d{3})+|\d+)(?:\.(?<fraction>\d{1,9}))?$/.exec(
    text.trim(),
  );
  if (match?.groups === undefined) return null;
  const { sign = '', whole = '', fraction = '' } = match.groups;
  return BigInt(`${sign}${whole.replaceAll(',', '')}${fraction.padEnd(decimals, '0')}`);
}

/** Whole cents of a typed amount; null if it is invalid or has a fraction of a cent. */
export function parseCents(text: string): number | null {
  const nano = parseUsd(text);
  const cents = nano?.toString().padStart(8, '0');
  if (cents === undefined || !cents.endsWith('0000000')) return null;
  return Number(cents.slice(0, -7) || '0');
}

/** The price of a part, rounded up to a nano-USD like every charge. */
export function proratePrice(nanoUsd: bigint, part: bigint, whole: bigint): bigint {
  // oxlint-disable-next-line house/divide-only-in-money -- a price shown before it is charged, rounded like the charge
  return (nanoUsd * part + whole - 1n) / whole;
}
