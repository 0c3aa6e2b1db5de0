import { describe, expect, it } from 'vitest';
import { usagePeriod, wholeCount, wholeSeconds } from './usage.ts';

const noon = Date.UTC(2026, 6, 31, 12);
const at = (text: string) => new Date(text);

describe('usagePeriod', () => {
  it('is the last 31 days including today by default', () => {
    expect(usagePeriod({ from: null, until: null }, noon)).toEqual({
      from: at('2026-07-01T00:00:00Z'),
      until: at('2026-07-31T12:00:00Z'),
    });
  });

  it('starts 31 days before the requested end', () => {
    expect(usagePeriod({ from: null, until: at('2026-03-02T08:00:00Z') }, noon)).toEqual({
      from: at('2026-01-31T00:00:00Z'),
      until: at('2026-03-02T08:00:00Z'),
    });
  });

  it.each([
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 'ends_before_it_begins'],
    ['2026-01-02T00:00:00Z', '2026-01-01T00:00:00Z', 'ends_before_it_begins'],
    ['2025-01-01T00:00:00Z', '2026-01-02T00:00:00.001Z', 'too_long'],
  ])('from %s until %s is refused: %s', (from, until, error) => {
    expect(usagePeriod({ from: at(from), until: at(until) }, noon)).toBe(error);
  });

  it('may be 366 days to the millisecond', () => {
    const period = { from: at('2025-01-01T00:00:00Z'), until: at('2026-01-02T00:00:00Z') };
    expect(usagePeriod(period, noon)).toEqual(period);
  });
});

describe('counts on the wire', () => {
  it('are whole seconds rounded down, never negative, at most the largest safe integer', () => {
    expect([0n, 999n, 1_000n, 1_999n, -1n].map(wholeSeconds)).toEqual([0, 0, 1, 1, 0]);
    expect([-5n, 0n, 7n, 2n ** 60n].map(wholeCount)).toEqual([0, 0, 7, Number.MAX_SAFE_INTEGER]);
  });
});
