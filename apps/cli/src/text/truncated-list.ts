/** The line beneath a list that does not show everything, and none beneath one that does. */
export function truncatedListNote(list: {
  readonly shown: number;
  /** Null when nobody knows how many there are, only that there are more. */
  readonly total: number | null;
  /** In the plural: `offers`. */
  readonly noun: string;
  /** What to type to see the others. */
  readonly more: string;
}): string | null {
  const { shown, total, noun, more } = list;
  if (total === shown) return null;
  const counted =
    total !== null
      ? `Shown ${shown} of ${total} ${noun}`
      : // Nouns come in the plural, which does not fit one.
        `Shown ${shown === 1 ? 'one' : `${shown} ${noun}`}; there are more`;
  return `${counted}. ${more}`;
}
