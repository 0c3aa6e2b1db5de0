import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scaleTicks, tickLabels } from './scale.ts';

const gib = 1_024 ** 3;

test('chart ticks for bytes are powers of two, so that no tick reads 279.4 GiB', () => {
  expect(scaleTicks(300e9, 'binary').map((tick) => tick / gib)).toEqual([0, 64, 128, 192, 256, 320]);
  expect(scaleTicks(80 * gib, 'binary').map((tick) => tick / gib)).toEqual([0, 16, 32, 48, 64, 80]);
});

test('chart ticks for money and counts are round numbers, and percentages end at 100', () => {
  expect(scaleTicks(7.3, 'decimal')).toEqual([0, 2, 4, 6, 8]);
  expect(scaleTicks(0, 'decimal')).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
  expect(scaleTicks(12, 'percent')).toEqual([0, 25, 50, 75, 100]);
});

test('chart ticks cover every point, with at most six ticks below the top one', () => {
  fc.assert(
    fc.property(
      fc.double({ min: 1e-6, max: 1e15, noNaN: true }),
      fc.constantFrom('decimal' as const, 'binary' as const),
      (high, base) => {
        const ticks = scaleTicks(high, base);
        expect(ticks.at(-1)).toBeGreaterThanOrEqual(high * (1 - 1e-9));
        expect(ticks.length).toBeLessThanOrEqual(7);
        expect(ticks[0]).toBe(0);
        expect(ticks.length).toBeGreaterThanOrEqual(2);
      },
    ),
  );
});

test('chart ticks leave the percent scale when a value is above 100, and go below zero for negative values', () => {
  expect(scaleTicks(310, 'percent')).toEqual([0, 100, 200, 300, 400]);
  expect(scaleTicks(3, 'decimal', -4)).toEqual([-4, -2, 0, 2, 4]);
  expect(scaleTicks(0, 'decimal', -4)).toEqual([-4, -3, -2, -1, 0]);
});

test('tickLabels drops the decimals only if no tick needs them', () => {
  expect(tickLabels(['0.0 GiB', '64.0 GiB', '128.0 GiB'])).toEqual(['0 GiB', '64 GiB', '128 GiB']);
  expect(tickLabels(['$0.00', '$2.50', '$5.00'])).toEqual(['$0.00', '$2.50', '$5.00']);
});
