/** The line under a truncated list; none under a complete one. */
export function truncatedListNote(list: {
  readonly shown: number;
  /** Null if the total is unknown. */
  readonly total: number | null;
  /** In the plural: `offers`. */
  readonly noun: string;
  /** The command that shows the rest. */
  readonly more: string;
}): string | null {
  const { shown, total, noun, more } = list;
  if (total === shown) return null;
  const counted =
    total !== null
      ? `Showing ${shown} of ${total} ${noun}`
      : // `noun` is plural, so it cannot follow 1.
        `Showing ${shown === 1 ? 'one' : `${shown} ${noun}`}; there are more`;
  return `${counted}. ${more}`;
}
