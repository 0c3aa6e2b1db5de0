import { withDeadline, type Clock } from '@millrace/platform/clock';
import { Fault } from '@millrace/platform/fault';
import type { Bucket, BucketEntry } from '@millrace/platform/nats';

export interface EntryCacheOptions<Value> {
  readonly clock: Clock;
  readonly bucket: Pick<Bucket, 'read'>;
  readonly withinMs: number;
  /** Kept in memory. Names that exist nowhere are remembered apart, so that made-up ones push out no real ones. */
  readonly maxEntries: number;
  /** Whether what is not in the bucket does not exist. */
  readonly isWhole: () => boolean;
  readonly keyOf: (name: string) => string;
  readonly parse: (text: string) => Value;
}

interface CachedEntry<Value> {
  readonly revision: number;
  /** Null: taken out. `unreadable`: written by someone who knows more than we do. */
  readonly value: Value | null | 'unreadable';
}

/**
 * Entries that are looked up when they are first needed and from then on kept by the changes that the follower of the
 * bucket tells, so memory goes with what is in use. A change of something nobody asked for is kept too: a look-up that
 * was answered before the change and arrives after it must not win.
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

  /** Whether `find` answers without asking the bucket. */
  knows(name: string): boolean {
    const key = this.#options.keyOf(name);
    return this.#known.has(key) || this.#absent.has(key) || this.#pending.has(key);
  }

  /** A change, or what was looked up. An older one than what is known says nothing. */
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
      throw unavailableFault('the gateway book could not be asked', error);
    }
    // Cleared meanwhile: the bucket is another one, and this is an answer of the one before.
    if (!this.#pending.has(key)) throw unavailableFault('the gateway book was replaced during a look-up');
    if (entry !== null) this.take(entry);
    const known = this.#known.get(key);
    if (known !== undefined) return requireReadable(known.value);
    if (!isWhole()) throw unavailableFault('the gateway book is not filled yet');
    this.#absent.add(key);
    trim(this.#absent, maxEntries);
    return null;
  }
}

function requireReadable<Value>(value: Value | null | 'unreadable'): Value | null {
  if (value === 'unreadable')
    throw unavailableFault('an entry of the gateway book cannot be read by this version');
  return value;
}

/** Not knowing is no reason to refuse for good: the caller may try again. */
function unavailableFault(internal: string, cause?: unknown): Fault {
  const why = cause === undefined ? { internal } : { internal, cause };
  return new Fault('SERVICE_UNAVAILABLE', { ...why, retryAfterSeconds: 1 });
}

/** Maps and sets remember the order of insertion, so the first is the one known longest. */
function trim(entries: Map<string, unknown> | Set<string>, max: number): void {
  if (entries.size <= max) return;
  const oldest = entries.keys().next();
  if (oldest.done !== true) entries.delete(oldest.value);
}
