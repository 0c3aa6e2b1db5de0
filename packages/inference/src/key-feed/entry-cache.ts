import { withDeadline, type Clock } from '@millrace/platform/clock';
import { Fault } from '@millrace/platform/fault';
import type { Bucket, BucketEntry } from '@millrace/platform/nats';

export interface EntryCacheOptions<Value> {
  readonly clock: Clock;
  readonly bucket: Pick<Bucket, 'read'>;
  readonly withinMs: number;
  /** Limit for found names and, separately, for missing ones, so that invented names evict no real ones. */
  readonly maxEntries: number;
  /** Whether a name that is not in the bucket does not exist. */
  readonly isWhole: () => boolean;
  readonly keyOf: (name: string) => string;
  readonly parse: (text: string) => Value;
}

interface CachedEntry<Value> {
  readonly revision: number;
  /** Null: deleted. `unreadable`: written by a newer version. */
  readonly value: Value | null | 'unreadable';
}

/**
 * Entries read on first use and then updated by the bucket's follower. Changes of unused entries are kept too, so that a read
 * that started before a change cannot overwrite it.
 */
export class EntryCache<Value extends object> {
  readonly #options: EntryCacheOptions<Value>;
  readonly #known = new Map<string, CachedEntry<Value>>();
  readonly #absent = new Set<string>();
  readonly #pending = new Map<string, Promise<Value | null>>();

  constructor(options: EntryCacheOptions<Value>) {
    this.#options = options;
  }

  find(name: string): Value | null | Promise<Value | null> {
    const key = this.#options.keyOf(name);
    const known = this.#known.get(key);
    if (known !== undefined) return requireReadable(known.value);
    if (this.#absent.has(key)) return null;
    return this.#pending.get(key) ?? this.#load(key);
  }

  /** Whether `find` needs no further read of the bucket. */
  knows(name: string): boolean {
    const key = this.#options.keyOf(name);
    return this.#known.has(key) || this.#absent.has(key) || this.#pending.has(key);
  }

  /** Stores a change or a read entry unless the cached revision is newer. */
  take(entry: BucketEntry): void {
    const { key, revision } = entry;
    const known = this.#known.get(key);
    if (known !== undefined && known.revision >= revision) return;
    this.#absent.delete(key);
    this.#known.delete(key);
    this.#known.set(key, { revision, value: this.#read(entry) });
    trim(this.#known, this.#options.maxEntries);
  }

  clear(): void {
    this.#known.clear();
    this.#absent.clear();
    this.#pending.clear();
  }

  get size(): number {
    return this.#known.size + this.#absent.size;
  }

  #read(entry: BucketEntry): Value | null | 'unreadable' {
    if (entry.value === null) return null;
    try {
      return this.#options.parse(entry.value);
    } catch {
      return 'unreadable';
    }
  }

  #load(key: string): Promise<Value | null> {
    const loading = this.#request(key).finally(() => {
      if (this.#pending.get(key) === loading) this.#pending.delete(key);
    });
    this.#pending.set(key, loading);
    return loading;
  }

  async #request(key: string): Promise<Value | null> {
    const { bucket, clock, withinMs, isWhole, maxEntries } = this.#options;
    let entry: BucketEntry | null;
    try {
      entry = await withDeadline(clock, `Looking up ${key}`, withinMs, () => bucket.read(key));
    } catch (error) {
      throw unavailableFault('the key feed bucket could not be read', error);
    }
    // `clear` ran meanwhile: this response is from the previous bucket.
    if (!this.#pending.has(key)) throw unavailableFault('the key feed bucket was replaced during a look-up');
    if (entry !== null) this.take(entry);
    const known = this.#known.get(key);
    if (known !== undefined) return requireReadable(known.value);
    if (!isWhole()) throw unavailableFault('the key feed bucket is not filled yet');
    this.#absent.add(key);
    trim(this.#absent, maxEntries);
    return null;
  }
}

function requireReadable<Value>(value: Value | null | 'unreadable'): Value | null {
  if (value === 'unreadable') throw unavailableFault('this version cannot parse an entry of the key feed');
  return value;
}

/** Retryable, because an unknown key might exist. */
function unavailableFault(internal: string, cause?: unknown): Fault {
  const why = cause === undefined ? { internal } : { internal, cause };
  return new Fault('SERVICE_UNAVAILABLE', { ...why, retryAfterSeconds: 1 });
}

/** Removes the entry that was inserted first. */
function trim(entries: Map<string, unknown> | Set<string>, max: number): void {
  if (entries.size <= max) return;
  const oldest = entries.keys().next();
  if (oldest.done !== true) entries.delete(oldest.value);
}
