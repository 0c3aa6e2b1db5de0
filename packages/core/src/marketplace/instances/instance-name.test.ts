import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { candidateName } from './instance-name.ts';
import { adjectives, nouns } from './name-words.ts';

/** The database's pattern; names must also fit a DNS label with any port. */
const pattern = /^[a-z0-9]+(-[a-z0-9]+){2,4}$/;
const LABEL_MAX = 63;
const PORT_AND_DASH = '65535-'.length;

describe('name words', () => {
  it.each([
    { list: 'adjectives', words: adjectives },
    { list: 'nouns', words: nouns },
  ])('$list are lower-case ASCII and unique', ({ words }) => {
    expect(words.filter((word) => !/^[a-z]{2,12}$/.test(word))).toEqual([]);
    expect(new Set(words).size).toBe(words.length);
  });

  it('give more than ten million names without a number', () => {
    expect(adjectives.length * nouns.length * (nouns.length - 1)).toBeGreaterThan(10_000_000);
  });
});

describe('candidateName', () => {
  /** Any random source that respects the bounds. */
  const anyRandom = fc
    .infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }))
    .map((numbers) => (bound: number) => Math.floor((numbers.next().value ?? 0) * bound));

  it("matches the database's pattern and fits a DNS label with any port, at any attempt", () => {
    fc.assert(
      fc.property(anyRandom, fc.integer({ min: 0, max: 4 }), (random, nth) => {
        const name = candidateName(random, nth);
        expect(name).toMatch(pattern);
        expect(name.length + PORT_AND_DASH).toBeLessThanOrEqual(LABEL_MAX);
      }),
    );
  });

  it('contains no noun twice', () => {
    fc.assert(
      fc.property(anyRandom, (random) => {
        const words = candidateName(random, 0).split('-');
        expect(words).toHaveLength(3);
        expect(new Set(words.slice(1)).size).toBe(2);
      }),
    );
  });

  it('adds a number after the first attempt, with more digits each time', () => {
    const zero = (): number => 0;
    const digits = [1, 2, 3].map((nth) => candidateName(zero, nth).split('-').at(-1));
    expect(digits).toEqual(['1000', '10000', '100000']);
  });
});
