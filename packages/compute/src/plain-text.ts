/** Longer than anybody reads, shorter than any column that keeps it. */
const MAX_CHARS = 1_900;

/**
 * A text of others, as it can be kept and shown: in one line, without what steers terminals, without halves of characters,
 * and not for ever. Part of what an engine or a machine says may have been written to do harm.
 */
export function plainText(text: string): string {
  return text
    .slice(0, 2 * MAX_CHARS)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_CHARS)
    .toWellFormed();
}
