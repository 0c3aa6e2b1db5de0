import { ReusedArray } from './reused-buffers.ts';

/** What a field of a machine can hold. Each field holds values of one type only. */
export type Value = string | number | boolean;

/** In which order a column's values stand. */
export interface Ranking {
  /** The rank of each code; machines without a value come last. */
  readonly rankOf: Uint32Array;
  /** The values by rank. */
  readonly values: readonly Value[];
  /** One more than the highest rank. */
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
 * One field of all machines, by their slots. Equal contents have one code, so a question is put to each distinct content
 * once and not to each machine: what is left for a machine is a look into a table of bits. A field may hold several
 * values, such as the models of its GPUs.
 */
export class Column {
  #codes = new Uint32Array(0);
  readonly #entries: (Entry | undefined)[] = [];
  readonly #codeOf = new Map<Value, number>();
  readonly #free: number[] = [];
  /** The codes of contents that are not one single value. */
  readonly #lists = new Set<number>();
  readonly #rankings = new Map<Direction, Ranking>();

  /** The codes by slot; those of slots without a machine mean nothing. */
  get codes(): Uint32Array {
    return this.#codes;
  }

  /** What stands at a slot that has a machine. */
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
    // Used before the old one is given up: usually it is the same.
    this.#codes[slot] = this.#use(values);
    this.#giveUp(before);
  }

  remove(slot: number): void {
    this.#giveUp(this.#codes[slot] ?? 0);
  }

  /**
   * By code: whether its content passes. `among`: only contents with one of these values can. It stands in memory that the
   * next one, of whatever column, is written to.
   */
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

  /** A field with several values stands where its first one in this direction does. */
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
    if (entry === undefined) throw new Error('A column gave up what it does not hold.');
    entry.uses -= 1;
    if (entry.uses > 0) return;
    this.#entries[code] = undefined;
    this.#codeOf.delete(entry.key);
    this.#lists.delete(code);
    this.#free.push(code);
    this.#rankings.clear();
  }
}

/** One value is its own key; a list has a text that no single value of ours can be: those never begin with NUL. */
function keyOf(values: readonly Value[]): Value {
  const [only] = values;
  return values.length === 1 && only !== undefined ? only : `\u0000${JSON.stringify(values)}`;
}

export function ordered(direction: Direction): (a: Value, b: Value) => number {
  const before = direction === 'asc' ? -1 : 1;
  return (a, b) => (a === b ? 0 : a < b ? before : -before);
}

/** Texts are sorted without calling back, which is several times as fast. */
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

/** Where a value stands among those of a ranking, also one that no machine has: then between two ranks. */
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
