import { encodeCursor, decodeCursor, type Cursor } from '@millrace/platform/http';
import { z } from 'zod';
import type { Direction, Ranking, Value } from './column.ts';
import { rankPosition } from './column.ts';
import { ReusedArray } from './reused-buffers.ts';

/** Sorts machines and converts positions in the order to cursors. Pure. */

export interface SortKey {
  readonly codes: Uint32Array;
  readonly ranking: Ranking;
  readonly direction: Direction;
}

const countScratch = new ReusedArray((length) => new Uint32Array(length));
const numberScratch = new ReusedArray((length) => new Float64Array(length));
const sortedScratch = new ReusedArray((length) => new Uint32Array(length));
/** Above this number of ranks, sorting is faster than counting. */
const COUNTED_RANKS_MAX = 4_000_000;

/**
 * Sorts slots that are in order of id; equal ones keep that order. Ranks of several columns and the index form one
 * number, and sorting numbers needs no comparator: 100 000 take a few milliseconds. Columns that do not fit into one
 * number are sorted in groups, last first. The next call overwrites the result.
 */
export function sortSlots(slots: Uint32Array, keys: readonly SortKey[]): Uint32Array {
  let sorted = slots;
  for (const group of groupSortKeys(keys, slots.length)) sorted = sortBy(sorted, group);
  return sorted;
}

/**
 * Selects the slots that can be among the first `most` by the first key. It counts ranks, so that not all slots need
 * sorting. The result keeps the order of ids. `into` receives the result and may be `slots`.
 */
export function selectTopByRank(
  slots: Uint32Array,
  { codes, ranking }: SortKey,
  most: number,
  into: Uint32Array,
): Uint32Array {
  const { rankOf, ranks } = ranking;
  if (slots.length <= most || ranks > COUNTED_RANKS_MAX) return slots;
  const counts = countScratch.take(ranks).fill(0);
  for (let index = 0; index < slots.length; index += 1) {
    const rank = rankOf[codes[slots[index] ?? 0] ?? 0] ?? 0;
    counts[rank] = (counts[rank] ?? 0) + 1;
  }
  let last = 0;
  for (let seen = counts[0] ?? 0; seen < most; seen += counts[last] ?? 0) last += 1;
  let count = 0;
  for (let index = 0; index < slots.length; index += 1) {
    const slot = slots[index] ?? 0;
    into[count] = slot;
    if ((rankOf[codes[slot] ?? 0] ?? 0) <= last) count += 1;
  }
  return into.subarray(0, count);
}

/** From last to first, as many per group as fit into one number with the index. */
function groupSortKeys(keys: readonly SortKey[], places: number): readonly (readonly SortKey[])[] {
  const groups: SortKey[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const key of keys.toReversed()) {
    size *= key.ranking.ranks;
    if (size <= Number.MAX_SAFE_INTEGER) {
      groups.at(-1)?.unshift(key);
    } else {
      groups.push([key]);
      size = key.ranking.ranks * Math.max(1, places);
    }
  }
  return groups;
}

function sortBy(slots: Uint32Array, keys: readonly SortKey[]): Uint32Array {
  const places = slots.length;
  const numbers = numberScratch.take(places).fill(0);
  for (const { codes, ranking } of keys) {
    const { rankOf, ranks } = ranking;
    for (let place = 0; place < places; place += 1) {
      const rank = rankOf[codes[slots[place] ?? 0] ?? 0] ?? 0;
      numbers[place] = (numbers[place] ?? 0) * ranks + rank;
    }
  }
  for (let place = 0; place < places; place += 1) numbers[place] = (numbers[place] ?? 0) * places + place;
  numbers.sort();
  for (let place = 0; place < places; place += 1) {
    numbers[place] = slots[(numbers[place] ?? 0) % places] ?? 0;
  }
  // Taken only now, because `slots` may be the result of the previous sort.
  const sorted = sortedScratch.take(places);
  sorted.set(numbers);
  return sorted;
}

/** Values and id of the last machine shown, so that changes of other machines skip or repeat none. */
export interface SortPosition {
  readonly values: readonly (Value | null)[];
  readonly id: string;
}

export function isAfterPosition(
  keys: readonly SortKey[],
  position: SortPosition,
  idOf: (slot: number) => string,
): (slot: number) => boolean {
  const places = keys.map(({ ranking, direction }, index) =>
    rankPosition(ranking, direction, position.values[index] ?? null),
  );
  return (slot) => {
    for (const [index, { codes, ranking }] of keys.entries()) {
      const rank = ranking.rankOf[codes[slot] ?? 0] ?? 0;
      const place = places[index] ?? 0;
      if (rank !== place) return rank > place;
    }
    return idOf(slot) > position.id;
  };
}

/** The sort order as text; a cursor of another order is rejected. */
export type SortName = string;

const cursorShape = z.strictObject({ order: z.string(), at: z.string(), id: z.string() });
const valuesShape = z.array(z.union([z.string(), z.number(), z.boolean(), z.null()]));

export function toCursor(order: SortName, position: SortPosition): Cursor {
  return encodeCursor({ order, at: JSON.stringify(position.values), id: position.id });
}

export function fromCursor(order: SortName, columns: number, cursor: Cursor): SortPosition {
  const shape = cursorShape
    .refine((parsed) => parsed.order === order)
    .transform(({ at, id }, context) => {
      const values = valuesShape.length(columns).safeParse(parseJson(at));
      if (values.success) return { values: values.data, id };
      context.addIssue('is not a cursor of this list');
      return z.NEVER;
    });
  return decodeCursor(cursor, shape);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
