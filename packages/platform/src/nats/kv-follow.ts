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
export function followBucket(
  deps: BucketDeps,
  bucket: string,
  list: List,
  options: FollowOptions,
): BucketFollower {
  const { manager, streams, clock, log } = deps;
  const stream = bucketStream(bucket);
  const closing = new AbortController();
  const started = Promise.withResolvers<void>();
  /** When the bucket was made: another time is another bucket, whose revisions begin anew. */
  let made: string | null = null;
  /** All changes up to this revision have been told. */
  let position = 0;
  let freshAtMs: number | null = null;
  /** The last answer that was not reached yet. */
  let target: { readonly revision: number; readonly requestedAtMs: number } | null = null;
  /** Ahead of `position` at the beginning, when present values were read while others were being written. */
  let ahead = new Map<string, number>();
  /** Where a consumer got no further; where the next one gets no further either, all is read anew. */
  let stuckAt: number | null = null;

  const readInfo = (): Promise<StreamInfo> =>
    withDeadline(clock, `Asking for the bucket ${bucket}`, infoTimeoutMs, () => manager.streams.info(stream));

  const isAnother = (info: StreamInfo): boolean => info.created !== made || info.state.last_seq < position;

  function moveTo(revision: number): void {
    position = Math.max(position, revision);
    if (target === null || target.revision > position) return;
    freshAtMs = target.requestedAtMs;
    target = null;
  }

  function take(message: JsMsg): void {
    const { subject, seq, headers } = message;
    const entry = toEntry(bucket, { subject, seq, headers, text: () => message.string() });
    if (seq > (ahead.get(entry.key) ?? 0)) options.onChange(entry);
    moveTo(seq);
  }

  /** Reads what stands, unless the bucket is still the one that was followed before. */
  async function begin(): Promise<void> {
    const requestedAtMs = clock.monotonicMs();
    const info = await readInfo();
    if (!isAnother(info)) return;
    const present: BucketEntry[] = [];
    for (const pattern of options.present) for await (const entry of list(pattern)) present.push(entry);
    closing.signal.throwIfAborted();
    made = info.created;
    position = info.state.last_seq;
    ahead = new Map(present.map((entry) => [entry.key, entry.revision]));
    target = null;
    freshAtMs = requestedAtMs;
    options.onBegin(present.filter((entry) => entry.value !== null));
    started.resolve();
  }

  function giveUp(): void {
    if (stuckAt === position) made = null;
    stuckAt = position;
    target = null;
  }

  /** Resolves when following must begin again. */
  async function watchOver(messages: ConsumerMessages): Promise<void> {
    const broken = new AbortController();
    const end = (): void => broken.abort();
    const stopListening = deps.onReconnect(end);
    void messages.closed().finally(end);
    void closeWhenLost(messages, end);
    const until = AbortSignal.any([broken.signal, closing.signal]);
    try {
      while (!until.aborted) {
        const requestedAtMs = clock.monotonicMs();
        const info = await readInfo().catch(() => null);
        if (info !== null && isAnother(info)) return;
        if (info !== null && target === null) target = { revision: info.state.last_seq, requestedAtMs };
        moveTo(position);
        if (target !== null && requestedAtMs - target.requestedAtMs >= overdueMs) return giveUp();
        await clock.sleep(checkEveryMs, until).catch(() => undefined);
      }
    } finally {
      stopListening();
    }
  }

  async function followOnce(): Promise<void> {
    await begin();
    const consumer = await withDeadline(clock, `Following the bucket ${bucket}`, infoTimeoutMs, () =>
      streams.consumers.get(stream, { opt_start_seq: position + 1, inactive_threshold: consumerInactiveMs }),
    );
    const messages = await consumer.consume({ callback: take, idle_heartbeat: heartbeatMs });
    try {
      await watchOver(messages);
    } finally {
      void messages.close();
      void consumer.delete().catch(() => undefined);
    }
  }

  async function run(): Promise<void> {
    /** Said once, however often it is tried: whoever starts before the bucket is there tries for a while. */
    let reported: string | null = null;
    while (!closing.signal.aborted) {
      try {
        await followOnce();
        reported = null;
      } catch (error) {
        if (closing.signal.aborted) return;
        const problem = String(error);
        if (problem !== reported) {
          if (isStreamMissing(error)) log.warn({ bucket }, 'a bucket is not there; waiting until it is made');
          else log.warn({ err: error, bucket }, 'a bucket cannot be followed now; trying again');
        }
        reported = problem;
      }
      await clock.sleep(retryAfterMs, closing.signal).catch(() => undefined);
    }
  }
  const running = run();

  return {
    ready: () => started.promise,
    freshAtMs: () => freshAtMs,
    async close() {
      closing.abort();
      await running;
    },
  };
}

async function closeWhenLost(messages: ConsumerMessages, end: () => void): Promise<void> {
  for await (const { type } of messages.status()) if (lostConsumerEvents.has(type)) end();
}
