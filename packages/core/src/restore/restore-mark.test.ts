import { describe, expect, it } from 'vitest';
import { minEpochOf, isMarkAhead, newestCopy, parseMarkCopy, type MarkCopy } from './restore-mark.ts';

const markOf = (generation: number, mark: number, invoices = 0, rental = 1): MarkCopy => ({
  generation,
  mark,
  at: '2026-01-01T00:00:00.000Z',
  counters: { invoices, wireIds: { 'rental/1': rental } },
});

describe('isMarkAhead', () => {
  it('compares the generation first, then the mark', () => {
    expect(isMarkAhead(markOf(1, 5), markOf(1, 4))).toBe(true);
    expect(isMarkAhead(markOf(1, 4), markOf(1, 4))).toBe(false);
    expect(isMarkAhead(markOf(1, 900), markOf(2, 1))).toBe(false);
    expect(isMarkAhead(markOf(2, 1), markOf(1, 900))).toBe(true);
  });
});

describe('newestCopy', () => {
  it('returns the newest mark with the highest of each counter, in any order', () => {
    const marks = [markOf(1, 9, 7, 40), markOf(2, 3, 5, 60)];
    expect(newestCopy(marks)).toEqual(markOf(2, 3, 7, 60));
    expect(newestCopy(marks.toReversed())).toEqual(markOf(2, 3, 7, 60));
    expect(newestCopy([])).toBeNull();
  });
});

describe('parseMarkCopy', () => {
  it('reads the copy of a worker and ignores every other text', () => {
    expect(parseMarkCopy(JSON.stringify(markOf(3, 4)))).toEqual(markOf(3, 4));
    for (const text of ['', 'null', '{}', '{"generation":-1}', '[1]']) expect(parseMarkCopy(text)).toBeNull();
  });
});

describe('minEpochOf', () => {
  it('is zero at first and grows by 2^32 with each confirmed restore, within what Lua counts exactly', () => {
    expect(minEpochOf(1)).toBe(0n);
    expect(minEpochOf(2)).toBe(4_294_967_296n);
    expect(minEpochOf(1_000_000) < 2n ** 53n).toBe(true);
  });
});
