/** A key-value bucket in JetStream, in the layout of NATS's own tools (`nats kv`). */
export interface BucketSpec {
  /** Letters, digits, `-` and `_`. */
  readonly name: string;
  /** The number of servers that store each value: 1 or 3. */
  readonly replicas: number;
  /** A full bucket refuses new values and drops none. */
  readonly maxBytes: number;
}

export interface BucketEntry {
  readonly key: string;
  /** Increases with every write to the bucket, whatever the key. */
  readonly revision: number;
  /** Null: deleted. */
  readonly value: string | null;
}

export interface FollowOptions {
  /** Key patterns with `*` and `>` whose present values are reported at the start. For other keys only changes are. */
  readonly present: readonly string[];
  /**
   * Called at the start, and again if the bucket was recreated: then everything reported before is void. Changes in between
   * follow without a gap, however often the connection is lost.
   */
  readonly onBegin: (present: readonly BucketEntry[]) => void;
  /** A change of any key. Changes of one key are in order. */
  readonly onChange: (entry: BucketEntry) => void;
}

export interface BucketFollower {
  /** Resolves after the first `onBegin`. */
  ready(): Promise<void>;
  /**
   * Everything written before this instant of the monotonic clock was reported; null before the start. It does not
   * advance while the broker is unreachable, so its age limits how far the process is behind.
   */
  freshAtMs(): number | null;
  close(): Promise<void>;
}

export interface Bucket {
  /** Reads from the bucket's leader, so never older than any earlier response; null if the key was never written. */
  read(key: string): Promise<BucketEntry | null>;
  /** Reads up to a thousand keys from any replica. The result may be old: read again before relying on it. */
  readFromAnyReplica(keys: readonly string[]): Promise<ReadonlyMap<string, BucketEntry>>;
  /** All entries that match a pattern, in the order of writing, with one request to the leader each. */
  list(pattern: string): AsyncIterable<BucketEntry>;
  /**
   * Writes the value, or deletes with null, if the key is at that revision (0: never written). Returns the new
   * revision, or null on a conflict. After a lost response the retry also returns null, so start again with `read`.
   */
  write(key: string, value: string | null, revision: number): Promise<number | null>;
  follow(options: FollowOptions): BucketFollower;
}
