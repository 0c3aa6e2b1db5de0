import type { ConsumerMessages, JsMsg, StreamInfo } from '@nats-io/jetstream';
import { withDeadline } from '../clock/index.ts';
import type { BucketDeps } from './kv.ts';
import { bucketStream, toEntry } from './kv-layout.ts';
import type { BucketEntry, BucketFollower, FollowOptions } from './kv-types.ts';
import { isStreamMissing } from './streams.ts';

/** How often the broker is asked how far the bucket is. */
const checkEveryMs = 1_000;
const infoTimeoutMs = 2_000;
/** Changes that stay out for this long are fetched by a new consumer. */
const overdueMs = 2_000;
const retryAfterMs = 250;
const heartbeatMs = 1_000;
const consumerInactiveMs = 30_000;
/** What the client says of its consumer when it may be gone. It would find out itself, but only in half a minute. */
const lostConsumerEvents = new Set([
  'heartbeats_missed',
  'consumer_not_found',
  'consumer_deleted',
  'stream_not_found',
  'no_responders',
]);

type List = (pattern: string) => AsyncIterable<BucketEntry>;

/**
 * Follows a bucket by a consumer of all its changes. Whether that consumer is still alive is not taken on its word: every
 * second the bucket's leader is asked for its last revision, and only once that has been told is the follower as fresh as
 * the question. A copy of the bucket that was cut off from the others cannot pass for the bucket.
 */
export function followBucket(...source: ConstructorParameters<typeof Follower>): BucketFollower {
  const follower = new Follower(...source);
  const running = follower.run();
  return {
    ready: () => follower.started.promise,
    freshAtMs: () => follower.freshAtMs,
    async close() {
      follower.closing.abort();
      await running;
    },
  };
}

class Follower {
  readonly closing = new AbortController();
  readonly started = Promise.withResolvers<void>();
  freshAtMs: number | null = null;
  readonly #deps: BucketDeps;
  readonly #bucket: string;
  readonly #list: List;
  readonly #options: FollowOptions;
  /** When the bucket was made: another time is another bucket, whose revisions begin anew. */
  #made: string | null = null;
  /** All changes up to this revision have been told. */
  #position = 0;
  /** The last answer that was not reached yet. */
  #target: { readonly revision: number; readonly requestedAtMs: number } | null = null;
  /** Ahead of `position` at the beginning, when present values were read while others were being written. */
  #ahead = new Map<string, number>();
  /** Where a consumer got no further; where the next one gets no further either, all is read anew. */
  #stuckAt: number | null = null;

  constructor(deps: BucketDeps, bucket: string, list: List, options: FollowOptions) {
    this.#deps = deps;
    this.#bucket = bucket;
    this.#list = list;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { clock, log } = this.#deps;
    const bucket = this.#bucket;
    const { signal } = this.closing;
    /** Said once, however often it is tried: whoever starts before the bucket is there tries for a while. */
    let reported: string | null = null;
    while (!signal.aborted) {
      try {
        await this.#followOnce();
        reported = null;
      } catch (error) {
        if (signal.aborted) return;
        const problem = String(error);
        if (problem !== reported) {
          if (isStreamMissing(error)) log.warn({ bucket }, 'a bucket is not there; waiting until it is made');
          else log.warn({ err: error, bucket }, 'a bucket cannot be followed now; trying again');
        }
        reported = problem;
      }
      await clock.sleep(retryAfterMs, signal).catch(() => undefined);
    }
  }

  async #followOnce(): Promise<void> {
    await this.#begin();
    const { clock, streams } = this.#deps;
    const options = { opt_start_seq: this.#position + 1, inactive_threshold: consumerInactiveMs };
    const consumer = await withDeadline(clock, `Following the bucket ${this.#bucket}`, infoTimeoutMs, () =>
      streams.consumers.get(bucketStream(this.#bucket), options),
    );
    const callback = (message: JsMsg): void => this.#take(message);
    const messages = await consumer.consume({ callback, idle_heartbeat: heartbeatMs });
    try {
      await this.#watchOver(messages);
    } finally {
      void messages.close();
      void consumer.delete().catch(() => undefined);
    }
  }

  /** Reads what stands, unless the bucket is still the one that was followed before. */
  async #begin(): Promise<void> {
    const requestedAtMs = this.#deps.clock.monotonicMs();
    const info = await this.#readInfo();
    if (!this.#isAnother(info)) return;
    const present: BucketEntry[] = [];
    for (const pattern of this.#options.present) {
      for await (const entry of this.#list(pattern)) present.push(entry);
    }
    this.closing.signal.throwIfAborted();
    this.#made = info.created;
    this.#position = info.state.last_seq;
    this.#ahead = new Map(present.map((entry) => [entry.key, entry.revision]));
    this.#target = null;
    this.freshAtMs = requestedAtMs;
    this.#options.onBegin(present.filter((entry) => entry.value !== null));
    this.started.resolve();
  }

  /** Resolves when following must begin again. */
  async #watchOver(messages: ConsumerMessages): Promise<void> {
    const { clock, onReconnect } = this.#deps;
    const broken = new AbortController();
    const end = (): void => broken.abort();
    const stopListening = onReconnect(end);
    void messages.closed().finally(end);
    void closeWhenLost(messages, end);
    const until = AbortSignal.any([broken.signal, this.closing.signal]);
    try {
      while (!until.aborted) {
        const requestedAtMs = clock.monotonicMs();
        const info = await this.#readInfo().catch(() => null);
        if (info !== null && this.#isAnother(info)) return;
        if (info !== null) this.#target ??= { revision: info.state.last_seq, requestedAtMs };
        this.#moveTo(this.#position);
        if (this.#target !== null && requestedAtMs - this.#target.requestedAtMs >= overdueMs)
          return this.#giveUp();
        await clock.sleep(checkEveryMs, until).catch(() => undefined);
      }
    } finally {
      stopListening();
    }
  }

  #giveUp(): void {
    if (this.#stuckAt === this.#position) this.#made = null;
    this.#stuckAt = this.#position;
    this.#target = null;
  }

  #take(message: JsMsg): void {
    const { subject, seq, headers } = message;
    const entry = toEntry(this.#bucket, { subject, seq, headers, text: () => message.string() });
    if (seq > (this.#ahead.get(entry.key) ?? 0)) this.#options.onChange(entry);
    this.#moveTo(seq);
  }

  #moveTo(revision: number): void {
    this.#position = Math.max(this.#position, revision);
    if (this.#target === null || this.#target.revision > this.#position) return;
    this.freshAtMs = this.#target.requestedAtMs;
    this.#target = null;
  }

  #isAnother({ created, state }: StreamInfo): boolean {
    return created !== this.#made || state.last_seq < this.#position;
  }

  #readInfo(): Promise<StreamInfo> {
    const { clock, manager } = this.#deps;
    return withDeadline(clock, `Asking for the bucket ${this.#bucket}`, infoTimeoutMs, () =>
      manager.streams.info(bucketStream(this.#bucket)),
    );
  }
}

async function closeWhenLost(messages: ConsumerMessages, end: () => void): Promise<void> {
  for await (const { type } of messages.status()) if (lostConsumerEvents.has(type)) end();
}
