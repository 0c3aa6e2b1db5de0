import type { ConsumerMessages, JsMsg, StreamInfo } from '@nats-io/jetstream';
import { withDeadline } from '../clock/index.ts';
import type { BucketDeps } from './kv.ts';
import { bucketStream, toEntry } from './kv-layout.ts';
import type { BucketEntry, BucketFollower, FollowOptions } from './kv-types.ts';
import { isStreamMissing } from './streams.ts';

/** How often the follower requests the last revision of the bucket. */
const checkEveryMs = 1_000;
const infoTimeoutMs = 2_000;
/** After this time, missing changes are requested by a new consumer. */
const overdueMs = 2_000;
const retryAfterMs = 250;
const heartbeatMs = 1_000;
const consumerInactiveMs = 30_000;
/** Consumer events that may mean a lost consumer. The client retries only after up to half a minute, so the follower starts again. */
const lostConsumerEvents = new Set([
  'heartbeats_missed',
  'consumer_not_found',
  'consumer_deleted',
  'stream_not_found',
  'no_responders',
]);

type List = (pattern: string) => AsyncIterable<BucketEntry>;

/**
 * Follows a bucket with a consumer of all changes. The consumer's own liveness is not trusted: every second the
 * follower requests the last revision from the bucket's leader, and is as fresh as that request only after it has
 * received this revision. So an isolated replica cannot pass for the bucket.
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
  /** Creation time of the bucket. Another time means a recreated bucket, whose revisions start again. */
  #made: string | null = null;
  /** All changes up to this revision were reported. */
  #position = 0;
  /** The last requested revision that is not reached yet. */
  #target: { readonly revision: number; readonly requestedAtMs: number } | null = null;
  /** Revisions ahead of `position` at the start, read while other keys were being written. */
  #ahead = new Map<string, number>();
  /** Where a consumer stopped. If the next one stops there too, the follower reads everything again. */
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
    /** The last logged problem, because a process may retry for long before the bucket exists. */
    let reported: string | null = null;
    while (!signal.aborted) {
      try {
        await this.#followOnce();
        reported = null;
      } catch (error) {
        if (signal.aborted) return;
        const problem = String(error);
        if (problem !== reported) {
          if (isStreamMissing(error))
            log.warn({ bucket }, 'bucket does not exist yet; waiting for its creation');
          else log.warn({ err: error, bucket }, 'bucket cannot be followed now; will retry');
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

  /** Reads the present values, unless the bucket is the one that was followed before. */
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

  /** Resolves when following must start again. */
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
    return withDeadline(clock, `Reading the state of the bucket ${this.#bucket}`, infoTimeoutMs, () =>
      manager.streams.info(bucketStream(this.#bucket)),
    );
  }
}

async function closeWhenLost(messages: ConsumerMessages, end: () => void): Promise<void> {
  for await (const { type } of messages.status()) if (lostConsumerEvents.has(type)) end();
}
