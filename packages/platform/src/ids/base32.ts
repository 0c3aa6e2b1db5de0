// Crockford's alphabet: no I, L, O or U, so an id read aloud or typed from paper cannot turn into another.
// It is in ASCII order, so text sorts exactly as the bits do.
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const valueOf = new Map(Array.from(alphabet, (symbol, value) => [symbol, value] as const));

/** 128 bits are 25 symbols and 3 bits more, so the first of 26 symbols is at most `7`. */
export const base32Length = 26;
const maxValue = (1n << 128n) - 1n;

export function encodeBase32(value: bigint): string {
  if (value < 0n || value > maxValue) throw new RangeError('Only 128-bit values have a base32 form.');
  let text = '';
  for (let shift = BigInt(5 * (base32Length - 1)); shift >= 0n; shift -= 5n) {
    text += alphabet[Number((value >> shift) & 31n)];
  }
  return text;
}

/** The value of exactly 26 canonical symbols, or null. Lower case and look-alikes are not canonical. */
export function decodeBase32(text: string): bigint | null {
  if (text.length !== base32Length) return null;
  let value = 0n;
  for (const symbol of text) {
    const digit = valueOf.get(symbol);
    if (digit === undefined) return null;
    value = (value << 5n) | BigInt(digit);
  }
  return value <= maxValue ? value : null;
}
