import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { candidateName } from './instance-name.ts';
import { adjectives, nouns } from './name-words.ts';

/** As the database insists, and short enough to be a label of a DNS name behind any port. */
const pattern = /^[a-z0-9]+(-[a-z0-9]+){2,4}$/;
const LABEL_MAX = 63;
const PORT_AND_DASH = '65535-'.length;

describe('the words', () => {
  it.each([
    { list: 'qualities', words: adjectives },
    { list: 'things', words: nouns },
  ])('of $list are plain and stand there once', ({ words }) => {
    expect(words.filter((word) => !/^[a-z]{2,12}$/.test(word))).toEqual([]);
    expect(new Set(words).size).toBe(words.length);
  });

  it('make more than ten million names before a number is needed', () => {
    expect(adjectives.length * nouns.length * (nouns.length - 1)).toBeGreaterThan(10_000_000);
  });
});

describe('a name', () => {
  /** Any source of numbers below the bounds that are asked for. */
  const anyRandom = fc
    .infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }))
    .map((numbers) => (bound: number) => Math.floor((numbers.next().value ?? 0) * bound));

  it('is one that the database takes and that is a DNS label behind any port, however often it was tried', () => {
    fc.assert(
      fc.property(anyRandom, fc.integer({ min: 0, max: 4 }), (random, nth) => {
        const name = candidateName(random, nth);
        expect(name).toMatch(pattern);
        expect(name.length + PORT_AND_DASH).toBeLessThanOrEqual(LABEL_MAX);
      }),
    );
  });

  it('has no word twice', () => {
    fc.assert(
      fc.property(anyRandom, (random) => {
        const words = candidateName(random, 0).split('-');
        expect(words).toHaveLength(3);
        expect(new Set(words.slice(1)).size).toBe(2);
      }),
    );
  });

  it('has a number once the words alone were taken, with more digits each time', () => {
    const zero = (): number => 0;
    const digits = [1, 2, 3].map((nth) => candidateName(zero, nth).split('-').at(-1));
    expect(digits).toEqual(['1000', '10000', '100000']);
  });
});
