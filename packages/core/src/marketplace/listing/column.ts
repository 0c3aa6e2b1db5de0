import { ReusedArray } from './reused-buffers.ts';

/** Each field holds values of one type only. */
export type Value = string | number | boolean;

/** The sort order of a column's values. */
export interface Ranking {
  /** Rank by code; machines without a value come last. */
  readonly rankOf: Uint32Array;
  readonly values: readonly Value[];
  readonly ranks: number;
}

export type Direction = 'asc' | 'desc';

interface Entry {
  readonly key: Value;
  readonly values: readonly Value[];
  uses: number;
}

const maskScratch = new ReusedArray((length) => new Uint8Array(length));

/**
 * One field of all machines, by slot. Equal contents share a code, so a filter is evaluated once per distinct content,
 * and each machine needs only a bit lookup. A field may have several values, such as GPU models.
 */
export class Column {
  #codes = new Uint32Array(0);
  readonly #entries: (Entry | undefined)[] = [];
  readonly #codeOf = new Map<Value, number>();
  readonly #free: number[] = [];
  /** Codes of contents with zero or several values. */
  readonly #lists = new Set<number>();
  readonly #rankings = new Map<Direction, Ranking>();

  /** Codes by slot; undefined for slots without a machine. */
  get codes(): Uint32Array {
    return this.#codes;
  }

  valuesAt(slot: number): readonly Value[] {
    return this.#entries[this.#codes[slot] ?? 0]?.values ?? [];
  }

  grow(slots: number): void {
    const codes = new Uint32Array(slots);
    codes.set(this.#codes);
    this.#codes = codes;
  }

  add(slot: number, values: readonly Value[]): void {
    this.#codes[slot] = this.#use(values);
  }

  replace(slot: number, values: readonly Value[]): void {
    const before = this.#codes[slot] ?? 0;
    // Add before release, because the content is usually the same.
    this.#codes[slot] = this.#use(values);
    this.#giveUp(before);
  }

  remove(slot: number): void {
    this.#giveUp(this.#codes[slot] ?? 0);
  }

  /** By code: whether its content passes. Only `among` can pass, if set. The next call overwrites the result. */
  mask(passes: (values: readonly Value[]) => boolean, among: readonly Value[] | null): Uint8Array {
    const mask = maskScratch.take(this.#entries.length).fill(0);
    const mark = (code: number): void => {
      const entry = this.#entries[code];
      if (entry !== undefined && passes(entry.values)) mask[code] = 1;
    };
    if (among === null) {
      for (let code = 0; code < mask.length; code += 1) mark(code);
      return mask;
    }
    for (const value of among) mark(this.#codeOf.get(value) ?? -1);
    for (const code of this.#lists) mark(code);
    return mask;
  }

  /** A field with several values is ranked by its first one in this direction. */
  ranking(direction: Direction): Ranking {
    const known = this.#rankings.get(direction);
    if (known !== undefined) return known;
    const standsAt = this.#entries.map((entry) => entry && firstOf(entry.values, direction));
    const values = sorted(new Set(standsAt.filter((value) => value !== undefined)), direction);
    const rankOfValue = new Map(values.map((value, rank) => [value, rank]));
    const rankOf = Uint32Array.from(standsAt, (value) =>
      value === undefined ? values.length : (rankOfValue.get(value) ?? values.length),
    );
    const ranking = { rankOf, values, ranks: values.length + 1 };
    this.#rankings.set(direction, ranking);
    return ranking;
  }

  #use(values: readonly Value[]): number {
    const key = keyOf(values);
    const known = this.#codeOf.get(key);
    const entry = known === undefined ? undefined : this.#entries[known];
    if (known !== undefined && entry !== undefined) {
      entry.uses += 1;
      return known;
    }
    const code = this.#free.pop() ?? this.#entries.length;
    this.#entries[code] = { key, values, uses: 1 };
    this.#codeOf.set(key, code);
    if (values.length !== 1) this.#lists.add(code);
    this.#rankings.clear();
    return code;
  }

  #giveUp(code: number): void {
    const entry = this.#entries[code];
    if (entry === undefined) throw new Error('The column does not contain the code to release.');
    entry.uses -= 1;
    if (entry.uses > 0) return;
    this.#entries[code] = undefined;
    this.#codeOf.delete(entry.key);
    this.#lists.delete(code);
    this.#free.push(code);
    this.#rankings.clear();
  }
}

/** A single value is its own key. The key of a list starts with NUL, which no single value does. */
function keyOf(values: readonly Value[]): Value {
  const [only] = values;
  return values.length === 1 && only !== undefined ? only : `\u0000${JSON.stringify(values)}`;
}

export function ordered(direction: Direction): (a: Value, b: Value) => number {
  const before = direction === 'asc' ? -1 : 1;
  return (a, b) => (a === b ? 0 : a < b ? before : -before);
}

/** Sorting strings without a comparator is several times as fast. */
function sorted(values: ReadonlySet<Value>, direction: Direction): readonly Value[] {
  const all = [...values];
  if (!all.every((value) => typeof value === 'string')) return all.toSorted(ordered(direction));
  all.sort();
  return direction === 'asc' ? all : all.reverse();
}

function firstOf(values: readonly Value[], direction: Direction): Value | undefined {
  if (values.length <= 1) return values[0];
  const compare = ordered(direction);
  return values.reduce<Value | undefined>(
    (first, value) => (first === undefined || compare(value, first) < 0 ? value : first),
    undefined,
  );
}

/** The rank of a value. A value that no machine has is between two ranks. */
export function rankPosition({ values }: Ranking, direction: Direction, value: Value | null): number {
  if (value === null) return values.length;
  const compare = ordered(direction);
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = values[middle];
    if (at !== undefined && compare(at, value) < 0) low = middle + 1;
    else high = middle;
  }
  return values[low] === value ? low : low - 0.5;
}
