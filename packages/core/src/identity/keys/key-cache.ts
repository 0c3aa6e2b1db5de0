import type { Timer } from '@millrace/platform/clock';

interface Entry<Value> {
  readonly value: Value;
  /** When the look-up began: the value can be as old as that. */
  readonly loadStartedMs: number;
}

interface Pending<Value> {
  readonly promise: Promise<Value | null>;
  readonly loadStartedMs: number;
}

export interface KeyCacheOptions<Value> {
  readonly clock: Timer;
  /** Older values are never used. */
  readonly maxAgeMs: number;
  readonly maxEntries: number;
  /** Absent names are cached separately, so that invented names cannot evict real ones. */
  readonly maxAbsent: number;
  readonly load: (name: string) => Promise<Value | null>;
}

/**
 * Caches look-ups for a short time. The age limit is a guarantee: changes are seen at most `maxAgeMs` later without any
 * notification. Concurrent look-ups of one name share one call.
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
    // An old look-up may return an old state, so later callers start a new one.
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
    // Pending look-ups cannot be matched yet, so none of their results is cached.
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
      // If the name was invalidated meanwhile, this value may predate the change: return it once without caching it.
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

/** A Map keeps insertion order, so its first entry is the oldest. */
function put<Value>(map: Map<string, Value>, name: string, value: Value, maxEntries: number): void {
  map.set(name, value);
  if (map.size <= maxEntries) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}
