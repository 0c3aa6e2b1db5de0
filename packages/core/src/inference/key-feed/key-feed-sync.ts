import { randomUUID } from 'node:crypto';
import { withDeadline, type Timer } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import { startLoop, type Loop } from '@millrace/platform/lifecycle';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import type { BucketSpec, BackgroundNatsClient } from '@millrace/platform/nats';
import type { Sealer } from '@millrace/platform/secrets';
import { counter } from '@millrace/platform/telemetry';
import {
  KEY_FEED_FILL_STATE,
  KEY_FEED_ID,
  keyFeedBucket,
  keyFeedKeys,
  fillStateText,
  parseFillState,
  type KeyFeedFillState,
} from '../key-feed.ts';
import type { RateSettings } from './key-feed-entries.ts';
import { deleteKeyFeedChanges, listRefs, listKeyFeedChanges } from './key-feed.store.ts';
import type { KeyFeedChange, KeyFeedEntryKind } from './key-feed.store.ts';
import { createKeyFeedWriter, type KeyFeedWriter } from './key-feed-writer.ts';
import { resealDeployments } from '../catalog/catalog.service.ts';
import { findModels } from '../catalog/catalog.store.ts';
import { writeKeyFeed } from '../loops.ts';

/** How often every process that can write looks for changes that nobody has written yet. */
const pollIntervalMs = 250;
/** Whoever made a change writes it at once; only after this do others do it for them. */
const takeoverDelayMs = 200;
const changesPerBatch = 500;
const kinds = ['key', 'organisation', 'model'] as const;
const defaultFlushTimeoutMs = 500;
const maintenanceIntervalMs = 1_000;
const pageSize = 500;
const defaultCompareIntervalMs = 900_000;

const written = counter(
  'millrace_gateway_book_writes_total',
  'Entries of the gateway book, by what became of them.',
);

export interface KeyFeedSyncOptions {
  readonly db: Db;
  readonly nats: Pick<BackgroundNatsClient, 'bucket'>;
  readonly prefix: string;
  readonly sealer: Sealer;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly rates: RateSettings;
  /** What a caller's answer waits for the book at most. The loops go on. */
  readonly flushWithinMs?: number;
}

export interface KeyFeedSync {
  /** Writes all that has changed up to now, as far as the broker answers in time. Never fails: the loop goes on. */
  readonly flush: () => Promise<void>;
  /** Begins to write what nobody else has. */
  start(): Loop;
}

function createWriter(options: KeyFeedSyncOptions): KeyFeedWriter {
  const { db, nats, prefix, sealer, clock, log, rates } = options;
  return createKeyFeedWriter({ db, bucket: nats.bucket(keyFeedBucket(prefix)), sealer, clock, log, rates });
}

/**
 * Keeps the book behind the database. Runs in every api and worker: each writes its own changes right after their commit
 * and, a moment later, those of processes that died before they could.
 */
export function createKeyFeedSync(options: KeyFeedSyncOptions): KeyFeedSync {
  const { db, clock, log, flushWithinMs = defaultFlushTimeoutMs } = options;
  const writer = createWriter(options);
  const bucket = options.nats.bucket(keyFeedBucket(options.prefix));
  const runner = createItemRunner(writeKeyFeed, { db, clock, log });
  const keyOf = ({ kind, ref }: Pick<KeyFeedChange, 'kind' | 'ref'>): string => `${kind} ${ref}`;

  /** Returns how many changes are done. A change that fails waits for its next attempt and delays no other. */
  async function drain(waitedMs: number): Promise<number> {
    const changes = await listKeyFeedChanges(db, { limit: changesPerBatch, waitedMs, now: db.clock.now() });
    if (changes.length === 0) return 0;
    // If the broker is away, no entry has failed: none is postponed.
    await bucket.read(KEY_FEED_ID);
    const reached = new Set<string>();
    const distinct = new Map(changes.map((change) => [keyOf(change), change]));
    // Keys and organisations first: a gateway refuses a revoked key as soon as it has the new entry.
    const inOrder = kinds.flatMap((kind) => [...distinct.values()].filter((change) => change.kind === kind));
    const { failed } = await runner.run(inOrder, {
      key: keyOf,
      work: async (change) => {
        await writer.writeOne(change.kind, change.ref);
        reached.add(keyOf(change));
      },
    });
    written.add(reached.size, { result: 'written' });
    written.add(failed, { result: 'failed' });
    const done = changes.filter((change) => reached.has(keyOf(change)));
    // A full batch with failures may hide others behind them. Those that failed are postponed, so this ends.
    const isFull = failed > 0 && changes.length >= changesPerBatch;
    if (done.length === 0 && !isFull)
      throw new Error(`None of ${changes.length} changes reached the gateway book.`);
    if (done.length === 0) return drain(waitedMs);
    await db.transaction({ name: 'note the gateway book', isolation: 'read committed' }, (tx) =>
      deleteKeyFeedChanges(
        tx,
        done.map(({ id }) => id),
      ),
    );
    return done.length + (isFull ? await drain(waitedMs) : 0);
  }

  return {
    flush: coalesceCalls(() =>
      withDeadline(clock, 'Writing the gateway book', flushWithinMs, () => drain(0)).then(
        () => undefined,
        // The loop meets the same trouble and tells of it.
        () => undefined,
      ),
    ),
    start: () =>
      startLoop({ name: 'write the gateway book', clock, log, idleMs: pollIntervalMs }, async () =>
        (await drain(takeoverDelayMs)) >= changesPerBatch ? 'busy' : 'idle',
      ),
  };
}

/** Those who come while it runs share the next run: theirs must begin after they came. */
function coalesceCalls(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  const start = (): Promise<void> => {
    const started = run().finally(() => {
      if (running === started) running = null;
    });
    running = started;
    return started;
  };
  return () => {
    if (running === null) return start();
    next ??= running.then(() => {
      next = null;
      return start();
    });
    return next;
  };
}

export interface KeyFeedMaintenanceOptions extends Omit<KeyFeedSyncOptions, 'nats'> {
  readonly nats: Pick<BackgroundNatsClient, 'bucket' | 'ensureBucket'>;
  readonly replicas: number;
  readonly maxBytes: number;
  readonly compareEveryMs?: number;
}

/**
 * Makes the bucket, fills it, and compares all of it with the database again and again: the last resort, and the whole of
 * the repair when the broker has lost it. Runs in workers.
 */
export function maintainKeyFeed(options: KeyFeedMaintenanceOptions): Loop {
  const { nats, clock, log, prefix, compareEveryMs = defaultCompareIntervalMs } = options;
  const name = keyFeedBucket(prefix);
  const spec: BucketSpec = { name, replicas: options.replicas, maxBytes: options.maxBytes };
  const bucket = nats.bucket(name);
  const writer = createWriter(options);
  let comparedAtMs: number | null = null;

  /** A bucket that took another's place has another id, or none. */
  async function readOrCreateBucketId(): Promise<string> {
    const standing = await bucket.read(KEY_FEED_ID);
    if (standing?.value != null) return standing.value;
    const id = randomUUID();
    if ((await bucket.write(KEY_FEED_ID, id, standing?.revision ?? 0)) !== null) return id;
    return readOrCreateBucketId();
  }

  /** The catalog first: gateways can serve those who are in the book already while others are still being written. */
  async function compareAll(signal: AbortSignal): Promise<void> {
    await resealDeployments(options.db, options.sealer, log);
    const id = await readOrCreateBucketId();
    const models = await compareKind('model', signal);
    const outsiders = await removeUnknownModels();
    await markFilled('catalog', id);
    const others = [await compareKind('organisation', signal), await compareKind('key', signal)];
    const changed = [models, ...others].reduce((sum, { written: each }) => sum + each, outsiders);
    const failed = [models, ...others].reduce((sum, { failed: each }) => sum + each, 0);
    const isNew = await markFilled('all', id);
    if (isNew) log.info({ changed }, 'the gateway book is filled');
    else if (changed > 0) log.warn({ changed }, 'the gateway book differed from the database');
    // One broken row must not keep the gateways of everyone from working.
    if (failed > 0) log.error({ failed }, 'entries of the gateway book could not be written');
    comparedAtMs = clock.monotonicMs();
  }

  /** Unless it is so already, or another bucket has taken the place of the one that was filled. */
  async function markFilled(filled: KeyFeedFillState, id: string): Promise<boolean> {
    const standing = await bucket.read(KEY_FEED_FILL_STATE);
    const now = parseFillState(standing?.value);
    if (now === 'all' || now === filled || (await readOrCreateBucketId()) !== id) return false;
    return (await bucket.write(KEY_FEED_FILL_STATE, fillStateText(filled), standing?.revision ?? 0)) !== null;
  }

  async function compareKind(
    kind: KeyFeedEntryKind,
    signal: AbortSignal,
  ): Promise<{ written: number; failed: number }> {
    const total = { written: 0, failed: 0 };
    for (let after: string | null = null; ;) {
      signal.throwIfAborted();
      const refs: readonly string[] = await listRefs(options.db, kind, { after, limit: pageSize });
      const result = await writer.compare(kind, refs);
      total.written += result.written;
      total.failed += result.failed;
      if (refs.length < pageSize) return total;
      after = refs.at(-1) ?? null;
    }
  }

  /**
   * Models are never deleted, so one that the database does not know is from another database. Of models with parts all are
   * looked at: parts that their entry does not name are removed.
   */
  async function removeUnknownModels(): Promise<number> {
    const models = await listModelsUnder(keyFeedKeys.allModels);
    const known = new Set((await findModels(options.db, models)).map(({ name: model }) => model));
    const outsiders = models.filter((model) => !known.has(model));
    const divided = await listModelsUnder(keyFeedKeys.allContractParts);
    return (await writer.write('model', [...new Set([...outsiders, ...divided])])).written;
  }

  async function listModelsUnder(pattern: string): Promise<readonly string[]> {
    const models = new Set<string>();
    for await (const entry of bucket.list(pattern)) {
      if (entry.value !== null) models.add(keyFeedKeys.nameOfModel(entry.key));
    }
    return [...models];
  }

  return startLoop(
    { name: 'keep the gateway book', clock, log, idleMs: maintenanceIntervalMs },
    async (signal) => {
      const standing = await bucket.read(KEY_FEED_FILL_STATE).catch(async () => {
        await nats.ensureBucket(spec);
        return bucket.read(KEY_FEED_FILL_STATE);
      });
      const isDue = comparedAtMs === null || clock.monotonicMs() - comparedAtMs >= compareEveryMs;
      if (isDue || parseFillState(standing?.value) !== 'all') await compareAll(signal);
      return 'idle';
    },
  );
}
