// Crockford's alphabet: no I, L, O or U, so an id read aloud or typed from paper cannot turn into another.
// It is in ASCII order, so text sorts exactly as the bits do.
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** 128 bits are 25 symbols and 3 bits more, so the first of 26 symbols is at most `7`. */
export const base32Length = 26;
const hexLength = 32;

// Every request makes, reads and writes ids, so both ways work on symbols in pairs: 10 bits from a table. The first
// pair stands for 2 hexadecimal digits, each two pairs after it for 5.
const pairs = Array.from(alphabet, (first) => Array.from(alphabet, (second) => first + second)).flat();
const valueOfPair = new Map(pairs.map((pair, value) => [pair, value] as const));

/** 32 lower-case hexadecimal digits as 26 symbols. */
export function hexToBase32(hex: string): string {
  if (hex.length !== hexLength) throw new RangeError('Only 128-bit values have a base32 form.');
  let text = pairs[Number.parseInt(hex.slice(0, 2), 16)] ?? '';
  for (let at = 2; at < hexLength; at += 5) {
    const bits = Number.parseInt(hex.slice(at, at + 5), 16);
    text += `${pairs[bits >> 10]}${pairs[bits & 0x3ff]}`;
  }
  return text;
}

/** The value of exactly 26 canonical symbols, or null. Lower case and look-alikes are not canonical. */
export function base32ToHex(text: string): string | null {
  const top = valueOfPair.get(text.slice(0, 2));
  if (text.length !== base32Length || top === undefined || top > 0xff) return null;
  let hex = top.toString(16).padStart(2, '0');
  for (let at = 2; at < base32Length; at += 4) {
    const high = valueOfPair.get(text.slice(at, at + 2));
    const low = valueOfPair.get(text.slice(at + 2, at + 4));
    if (high === undefined || low === undefined) return null;
    hex += ((high << 10) | low).toString(16).padStart(5, '0');
  }
  return hex;
}
