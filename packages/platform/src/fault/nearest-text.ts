/** Longer texts are no slips of the finger, and comparing them would cost a hostile caller nothing and us much. */
const maxComparedChars = 64;

/** Which of the allowed texts a person most likely meant; undefined when none is near. */
export function nearestText(given: unknown, allowed: readonly unknown[]): string | undefined {
  if (typeof given !== 'string' || given === '' || given.length > maxComparedChars) return undefined;
  const text = given.toLowerCase();
  // No slip in a letter or two, one in a short word, two in a longer one: beyond that it is another word.
  const bearable = text.length < 3 ? 0 : text.length < 5 ? 1 : 2;
  let best = { distance: bearable + 1, word: undefined as string | undefined };
  for (const word of allowed) {
    if (typeof word !== 'string') continue;
    const distance = editDistance(text, word.toLowerCase());
    if (distance < best.distance) best = { distance, word };
  }
  return best.word;
}

/** How many letters must be added, dropped or replaced to turn one into the other (Levenshtein). */
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
