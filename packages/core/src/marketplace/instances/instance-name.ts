import { adjectives, nouns } from './name-words.ts';

/** What instances are called: three words that can be said over a telephone. Pure. */

/** A whole number from 0 to below the bound. */
export type RandomInt = (bound: number) => number;

/** A number behind the words has so many digits at first, and one more after each that was taken. */
const DIGITS_FIRST = 4;

/**
 * The nth name to try, from 0: the words alone, then with a number, so that there are names as long as there are
 * instances.
 */
export function candidateName(random: RandomInt, nth: number): string {
  const first = random(nouns.length);
  // Another one than the first, whatever comes up.
  const second = (first + 1 + random(nouns.length - 1)) % nouns.length;
  const words = [wordAt(adjectives, random(adjectives.length)), wordAt(nouns, first), wordAt(nouns, second)];
  if (nth === 0) return words.join('-');
  const least = 10 ** (DIGITS_FIRST + nth - 2);
  return [...words, String(least + random(9 * least))].join('-');
}

function wordAt(words: readonly string[], index: number): string {
  const word = words[index];
  if (word === undefined) throw new RangeError(`There is no word ${index}.`);
  return word;
}
