import type { CharSet } from 'refa';

/** Partitions the characters of an expression into the fewest classes that its character sets distinguish. */
export interface Alphabet {
  readonly size: number;
  classesOf(set: CharSet): ReadonlySet<number>;
  /** A character of the class as written in source code, for messages. */
  example(of: number): string;
}

interface ClassOfCharacters {
  readonly number: number;
  readonly example: number;
}

export function alphabetOf(sets: readonly CharSet[], maximum: number): Alphabet {
  const bounds = new Set([0, maximum + 1]);
  for (const { ranges } of sets) {
    for (const { min, max } of ranges) bounds.add(min).add(max + 1);
  }
  const starts = [...bounds].toSorted((left, right) => left - right).slice(0, -1);
  const classes = new Map<string, ClassOfCharacters>();
  const members = new Map<CharSet, Set<number>>(sets.map((set) => [set, new Set<number>()]));
  for (const start of starts) {
    const holders = sets.filter((set) => set.has(start));
    const signature = sets.map((set) => (set.has(start) ? '1' : '0')).join('');
    const known = classes.get(signature);
    const found = known ?? { number: classes.size, example: start };
    // A visible character is a better example than a control character.
    if (known === undefined || (isVisible(start) && !isVisible(known.example)))
      classes.set(signature, { number: found.number, example: start });
    for (const set of holders) members.get(set)?.add(found.number);
  }
  const examples = [...classes.values()].toSorted((left, right) => left.number - right.number);
  return {
    size: classes.size,
    classesOf: (set) => members.get(set) ?? new Set(),
    example: (of) => JSON.stringify(String.fromCodePoint(examples[of]?.example ?? 0)).slice(1, -1),
  };
}

function isVisible(code: number): boolean {
  return code > 0x20 && code < 0x7f;
}
