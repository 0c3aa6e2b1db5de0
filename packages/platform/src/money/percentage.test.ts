import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fromPercentage, nanoUsd, ppm, ppmPerWhole, roundExact, shareOf, toPercentage } from './index.ts';

describe('fromPercentage', () => {
  it('reads back every percentage with up to four decimals', () => {
    for (let millionths = 0; millionths <= ppmPerWhole; millionths += 1) {
      if (fromPercentage(toPercentage(ppm(millionths))) !== millionths) expect.fail(String(millionths));
    }
  });

  it.each([
    [0, 0],
    [-0, 0],
    [0.0001, 1],
    [12.5, 125_000],
    [33.3333, 333_333],
    [99.9999, 999_999],
    [100, 1_000_000],
  ])('converts %d', (percentage, millionths) => {
    expect(fromPercentage(percentage)).toBe(millionths);
  });

  it.each([
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    -0.0001,
    -1,
    100.0001,
    1e300,
    0.00001,
    12.34567,
    0.1 + 0.2,
  ])('returns null for %d instead of rounding it', (percentage) => {
    expect(fromPercentage(percentage)).toBeNull();
  });
});

describe('ppm and shareOf', () => {
  it.each([-1, 1_000_001, 0.5, Number.NaN])('ppm rejects %d', (millionths) => {
    expect(() => ppm(millionths)).toThrow(RangeError);
  });

  it('shareOf is exact before rounding', () => {
    expect(shareOf(nanoUsd(7n), ppm(333_333))).toEqual({ numerator: 2_333_331n, denominator: 1_000_000n });
    expect(roundExact(shareOf(nanoUsd(7n), ppm(333_333)), 'up')).toBe(3n);
    expect(roundExact(shareOf(nanoUsd(7n), ppm(333_333)), 'down')).toBe(2n);
  });

  it('shareOf a part and of the rest add up to the whole', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 2n ** 62n }).map(nanoUsd),
        fc.integer({ min: 0, max: ppmPerWhole }).map(ppm),
        (amount, part) => {
          const rest = ppm(ppmPerWhole - part);
          const down = roundExact(shareOf(amount, part), 'down');
          expect(down + roundExact(shareOf(amount, rest), 'up')).toBe(amount);
        },
      ),
    );
  });
});
