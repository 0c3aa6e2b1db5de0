/** Shorter than every column that stores such a text. */
const MAX_CHARS = 1_900;

/** Makes an untrusted text safe to store and show: one line, no control characters, no lone surrogates, limited length. */
export function plainText(text: string): string {
  return text
    .slice(0, 2 * MAX_CHARS)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_CHARS)
    .toWellFormed();
}
