/** Longer texts are not typing errors, and a hostile caller could make their comparison expensive. */
const maxComparedChars = 64;

/** The allowed text that the caller most likely meant; undefined if none is similar. */
export function nearestText(given: unknown, allowed: readonly unknown[]): string | undefined {
  if (typeof given !== 'string' || given === '' || given.length > maxComparedChars) return undefined;
  const text = given.toLowerCase();
  // Allow no typing error in 1 or 2 letters, one in short words and two in longer ones.
  const bearable = text.length < 3 ? 0 : text.length < 5 ? 1 : 2;
  let best = { distance: bearable + 1, word: undefined as string | undefined };
  for (const word of allowed) {
    if (typeof word !== 'string') continue;
    const distance = editDistance(text, word.toLowerCase());
    if (distance < best.distance) best = { distance, word };
  }
  return best.word;
}

/** The Levenshtein distance. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, char] of from.split('').entries()) {
    const next = [index + 1];
    for (const [column, wanted] of to.split('').entries()) {
      const replaced = at(row, column) + (char === wanted ? 0 : 1);
      next.push(Math.min(replaced, at(row, column + 1) + 1, at(next, column) + 1));
    }
    row = next;
  }
  return at(row, to.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}
