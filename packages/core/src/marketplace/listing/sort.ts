import { encodeCursor, decodeCursor, type Cursor } from '@millrace/platform/http';
import { z } from 'zod';
import type { Direction, Ranking, Value } from './column.ts';
import { rankPosition } from './column.ts';
import { ReusedArray } from './reused-buffers.ts';

/** In which order machines are shown, and where in it a page begins. Pure. */

/** One column to sort by, ready to be compared. */
export interface SortKey {
  readonly codes: Uint32Array;
  readonly ranking: Ranking;
  readonly direction: Direction;
}

const countScratch = new ReusedArray((length) => new Uint32Array(length));
const numberScratch = new ReusedArray((length) => new Float64Array(length));
const sortedScratch = new ReusedArray((length) => new Uint32Array(length));
/** Nothing has so many values; counting them all would take longer than sorting. */
const COUNTED_RANKS_MAX = 4_000_000;

/**
 * Sorts machines that are given in the order of their ids; those that are equal stay in it. Ranks are whole numbers, so
 * several columns and the place make up one number, and numbers are sorted without calling back: a hundred thousand in
 * some milliseconds. Columns that do not fit into one number are sorted one after the other, the last first. The answer
 * stands in memory that the next one is written to.
 */
export function sortSlots(slots: Uint32Array, keys: readonly SortKey[]): Uint32Array {
  let sorted = slots;
  for (const group of groupSortKeys(keys, slots.length)) sorted = sortBy(sorted, group);
  return sorted;
}

/**
 * Those among which the first so many in this order are, by the first key alone: counted by rank, so that few of many are
 * found without sorting all. The others are left as they were, in the order of their ids. `into` is for the answer, and as
 * long as `slots`, or is `slots`.
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

/** From the last to the first, as many together as a number has room for beside the place. */
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
  // Only now: `slots` may be what the sort before wrote there.
  const sorted = sortedScratch.take(places);
  sorted.set(numbers);
  return sorted;
}

/**
 * A place between machines: the values of the last one shown and its id. It stays where it is whatever happens to that
 * machine or to others: what has not changed meanwhile is neither left out nor shown twice.
 */
export interface SortPosition {
  readonly values: readonly (Value | null)[];
  readonly id: string;
}

/** Whether a machine comes after a position. */
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

/** What a list is sorted by, as text: a cursor of another order is refused. */
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
