import fc from 'fast-check';
import { expect, it } from 'vitest';
import { selectTopByRank, sortSlots, type SortKey } from './sort.ts';

/** A sort column of 30 machines. Its ranks reach 150 million, so `sortSlots` cannot always combine several columns into one number. */
const anyKey = fc
  .tuple(fc.array(fc.nat(3), { minLength: 30, maxLength: 30 }), fc.constantFrom(1, 1_000_000, 50_000_000))
  .map(([ranks, times]): SortKey => ({
    codes: Uint32Array.from({ length: 30 }, (_, slot) => slot),
    ranking: { rankOf: Uint32Array.from(ranks, (rank) => rank * times), values: [], ranks: 3 * times + 1 },
    direction: 'asc',
  }));
const anySlots = fc.uniqueArray(fc.nat(29)).map((slots) => Uint32Array.from(slots).sort());

const rank = ({ ranking }: SortKey, slot: number): number => ranking.rankOf[slot] ?? Number.NaN;

function naive(slots: Uint32Array, keys: readonly SortKey[]): number[] {
  return [...slots].sort((a, b) => {
    for (const key of keys) if (rank(key, a) !== rank(key, b)) return rank(key, a) - rank(key, b);
    return a - b;
  });
}

it('sortSlots sorts by all columns, also if they do not fit into one number, and keeps equal slots in order', () => {
  fc.assert(
    fc.property(anySlots, fc.array(anyKey, { maxLength: 6 }), (slots, keys) => {
      expect([...sortSlots(slots, keys)]).toEqual(naive(slots, keys));
    }),
  );
});

it('selectTopByRank finds the same first slots as sorting all', () => {
  const small = anyKey.filter(({ ranking }) => ranking.ranks < 10);
  fc.assert(
    fc.property(anySlots, small, anyKey, fc.integer({ min: 1, max: 31 }), (slots, first, second, most) => {
      const keys = [first, second];
      const found = sortSlots(selectTopByRank(slots, first, most, new Uint32Array(slots.length)), keys);
      expect([...found.subarray(0, most)]).toEqual(naive(slots, keys).slice(0, most));
    }),
  );
});
