import type { Timer } from '@millrace/platform/clock';

interface Entry<Value> {
  readonly value: Value;
  /** When the look-up began: the value may be as old as that, however late it arrived. */
  readonly loadStartedMs: number;
}

interface Pending<Value> {
  readonly promise: Promise<Value | null>;
  readonly loadStartedMs: number;
}

export interface KeyCacheOptions<Value> {
  readonly clock: Timer;
  /** Nothing older than this is ever used. */
  readonly maxAgeMs: number;
  readonly maxEntries: number;
  /** Names that exist nowhere are remembered apart, so that made-up ones cannot push real ones out. */
  readonly maxAbsent: number;
  readonly load: (name: string) => Promise<Value | null>;
}

/**
 * A small, short memory in front of a look-up. Its age bound is a promise to others: what has changed is seen no later
 * than `maxAgeMs` after the change, without anyone having to tell. Concurrent look-ups of one name are one look-up.
 */
export class KeyCache<Value> {
  readonly #options: KeyCacheOptions<Value>;
  readonly #present = new Map<string, Entry<Value>>();
  readonly #absent = new Map<string, Entry<null>>();
  readonly #pending = new Map<string, Pending<Value>>();

  constructor(options: KeyCacheOptions<Value>) {
    this.#options = options;
  }

  async get(name: string): Promise<Value | null> {
    const nowMs = this.#options.clock.monotonicMs();
    const known = this.#present.get(name) ?? this.#absent.get(name);
    if (known !== undefined && this.#isFresh(known, nowMs)) return known.value;
    const pending = this.#pending.get(name);
    // A look-up that has been under way for long may answer with an old state: whoever comes late asks anew.
    if (pending !== undefined && this.#isFresh(pending, nowMs)) return pending.promise;
    return this.#load(name, nowMs);
  }

  invalidate(name: string): void {
    this.#present.delete(name);
    this.#absent.delete(name);
    this.#pending.delete(name);
  }

  invalidateWhere(matches: (value: Value) => boolean): void {
    for (const [name, entry] of this.#present) if (matches(entry.value)) this.#present.delete(name);
    // What is still being looked up cannot be told apart yet, so none of it is kept.
    this.#pending.clear();
  }

  get size(): number {
    return this.#present.size + this.#absent.size;
  }

  async #load(name: string, loadStartedMs: number): Promise<Value | null> {
    const pending = { promise: this.#options.load(name), loadStartedMs };
    this.#pending.set(name, pending);
    try {
      const value = await pending.promise;
      // If the name was forgotten meanwhile, this answer may be from before the change: use it once, keep it not.
      if (this.#pending.get(name) === pending) this.#keep(name, value, loadStartedMs);
      return value;
    } finally {
      if (this.#pending.get(name) === pending) this.#pending.delete(name);
    }
  }

  #keep(name: string, value: Value | null, loadStartedMs: number): void {
    this.#present.delete(name);
    this.#absent.delete(name);
    if (value === null) put(this.#absent, name, { value, loadStartedMs }, this.#options.maxAbsent);
    else put(this.#present, name, { value, loadStartedMs }, this.#options.maxEntries);
  }

  #isFresh(entry: { readonly loadStartedMs: number }, nowMs: number): boolean {
    return nowMs - entry.loadStartedMs < this.#options.maxAgeMs;
  }
}

/** A Map remembers the order of insertion, so its first entry is the one looked up longest ago. */
function put<Value>(map: Map<string, Value>, name: string, value: Value, maxEntries: number): void {
  map.set(name, value);
  if (map.size <= maxEntries) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}
