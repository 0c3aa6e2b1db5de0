import { adjectives, nouns } from './name-words.ts';

/** Generates instance names of three words that are easy to say. Pure. */

/** Returns an integer from 0 to below the bound. */
export type RandomInt = (bound: number) => number;

/** Digits of the first number; each further attempt has one more. */
const DIGITS_FIRST = 4;

/** The first candidate has only words; later ones add a number, so that names never run out. */
export function candidateName(random: RandomInt, nth: number): string {
  const first = random(nouns.length);
  // Always differs from the first noun.
  const second = (first + 1 + random(nouns.length - 1)) % nouns.length;
  const words = [wordAt(adjectives, random(adjectives.length)), wordAt(nouns, first), wordAt(nouns, second)];
  if (nth === 0) return words.join('-');
  const least = 10 ** (DIGITS_FIRST + nth - 2);
  return [...words, String(least + random(9 * least))].join('-');
}

function wordAt(words: readonly string[], index: number): string {
  const word = words[index];
  if (word === undefined) throw new RangeError(`Word ${index} does not exist.`);
  return word;
}
