/** A key-value bucket in JetStream, in the layout that the broker's own tools read (`nats kv`). */
export interface BucketSpec {
  /** Letters, digits, `-` and `_`. */
  readonly name: string;
  /** How many servers keep each value: 1 or 3. */
  readonly replicas: number;
  /** A full bucket refuses new values; none is dropped. */
  readonly maxBytes: number;
}

export interface BucketEntry {
  readonly key: string;
  /** Grows with every write to the bucket, whatever its key. */
  readonly revision: number;
  /** Null: taken out. */
  readonly value: string | null;
}

export interface FollowOptions {
  /** Keys, with `*` and `>`, whose values at the beginning are wanted. Of all other keys only changes are told. */
  readonly present: readonly string[];
  /**
   * Told once at the beginning, and again if the bucket was lost and made anew: what was known before is void, and this
   * stands now. Between two of these, changes follow one another without a gap, however often the connection is lost.
   */
  readonly onBegin: (present: readonly BucketEntry[]) => void;
  /** A change, of any key. For one key never an older one after a newer one. */
  readonly onChange: (entry: BucketEntry) => void;
}

export interface BucketFollower {
  /** Resolves once `onBegin` has been told for the first time. */
  ready(): Promise<void>;
  /**
   * All that was written before this instant has been told, by the monotonic clock; null before the beginning. It
   * stands still while the broker cannot be asked, so its age is what a process may be behind.
   */
  freshAtMs(): number | null;
  close(): Promise<void>;
}

export interface Bucket {
  /** By the word of the bucket's leader, so never older than what anyone was told; null if it was never written. */
  read(key: string): Promise<BucketEntry | null>;
  /** Many at once, at most a thousand, from any copy: good for comparing, and to be read again before it is relied on. */
  readFromAnyReplica(keys: readonly string[]): Promise<ReadonlyMap<string, BucketEntry>>;
  /** All that stand under a pattern, in the order they were written. One question to the leader for each. */
  list(pattern: string): AsyncIterable<BucketEntry>;
  /**
   * Writes, or takes out with null, if the key still is at that revision (0: never written). Answers the new revision, or
   * null if another was faster; also after an answer that was lost, so begin again with `read`.
   */
  write(key: string, value: string | null, revision: number): Promise<number | null>;
  follow(options: FollowOptions): BucketFollower;
}
