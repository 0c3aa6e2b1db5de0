// Crockford's alphabet omits I, L, O and U against misreading. In ASCII order, text sorts like the bits.
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** 128 bits are 25 symbols and 3 bits, so the first of 26 symbols is at most `7`. */
export const base32Length = 26;
const hexLength = 32;

// A table of symbol pairs, for speed: the first pair is 2 hexadecimal digits, every two pairs after it are 5.
const pairs = Array.from(alphabet, (first) => Array.from(alphabet, (second) => first + second)).flat();
const valueOfPair = new Map(pairs.map((pair, value) => [pair, value] as const));

/** Converts 32 lowercase hexadecimal digits to 26 symbols. */
export function hexToBase32(hex: string): string {
  if (hex.length !== hexLength) throw new RangeError('Only 128-bit values have a base32 form.');
  let text = pairs[Number.parseInt(hex.slice(0, 2), 16)] ?? '';
  for (let at = 2; at < hexLength; at += 5) {
    const bits = Number.parseInt(hex.slice(at, at + 5), 16);
    text += `${pairs[bits >> 10]}${pairs[bits & 0x3ff]}`;
  }
  return text;
}

/** Converts exactly 26 canonical symbols, or returns null. Lower case and look-alike letters are not canonical. */
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
