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

/** How often every api and worker looks for unwritten changes. */
const pollIntervalMs = 250;
/** The process that made a change writes it at once; others take over after this time. */
const takeoverDelayMs = 200;
const changesPerBatch = 500;
const kinds = ['key', 'organisation', 'model'] as const;
const defaultFlushTimeoutMs = 500;
const maintenanceIntervalMs = 1_000;
const pageSize = 500;
const defaultCompareIntervalMs = 900_000;

const written = counter('millrace_gateway_book_writes_total');

export interface KeyFeedSyncOptions {
  readonly db: Db;
  readonly nats: Pick<BackgroundNatsClient, 'bucket'>;
  readonly prefix: string;
  readonly sealer: Sealer;
  /** See `createKeyFeedSealer`. */
  readonly feedSealer: Sealer;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly rates: RateSettings;
  /** How long a caller's response waits for the key feed at most. The loop continues after that. */
  readonly flushWithinMs?: number;
}

export interface KeyFeedSync {
  /** Writes all changes so far, as far as NATS responds in time. Never fails: the loop retries. */
  readonly flush: () => Promise<void>;
  /** Starts to write changes that no other process has written. */
  start(): Loop;
}

function createWriter(options: KeyFeedSyncOptions): KeyFeedWriter {
  const { nats, prefix, ...rest } = options;
  return createKeyFeedWriter({ ...rest, bucket: nats.bucket(keyFeedBucket(prefix)) });
}

/**
 * Keeps the key feed in step with the database. Runs in every api and worker: each writes its own changes after their commit
 * and, a moment later, those of processes that died before they could.
 */
export function createKeyFeedSync(options: KeyFeedSyncOptions): KeyFeedSync {
  const { db, clock, log, flushWithinMs = defaultFlushTimeoutMs } = options;
  const writer = createWriter(options);
  const bucket = options.nats.bucket(keyFeedBucket(options.prefix));
  const runner = createItemRunner(writeKeyFeed, { db, clock, log });
  const keyOf = ({ kind, ref }: Pick<KeyFeedChange, 'kind' | 'ref'>): string => `${kind} ${ref}`;

  /** Returns the number of written changes. A failed change waits for its next attempt and delays no other. */
  async function drain(waitedMs: number): Promise<number> {
    const changes = await listKeyFeedChanges(db, { limit: changesPerBatch, waitedMs, now: db.clock.now() });
    if (changes.length === 0) return 0;
    // If NATS is unreachable, no entry has failed and none is postponed.
    await bucket.read(KEY_FEED_ID);
    const reached = new Set<string>();
    const distinct = new Map(changes.map((change) => [keyOf(change), change]));
    // Keys and organisations first: a gateway rejects a revoked key as soon as it has the new entry.
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
    // A full batch with failures may hide other changes. Failed changes are postponed, so this recursion ends.
    const isFull = failed > 0 && changes.length >= changesPerBatch;
    if (done.length === 0 && !isFull)
      throw new Error(`None of ${changes.length} changes could be written to the key feed.`);
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
      withDeadline(clock, 'Writing the key feed', flushWithinMs, () => drain(0)).then(
        () => undefined,
        // The loop meets the same error and logs it.
        () => undefined,
      ),
    ),
    start: () =>
      startLoop({ name: 'write the gateway book', clock, log, idleMs: pollIntervalMs }, async () =>
        (await drain(takeoverDelayMs)) >= changesPerBatch ? 'busy' : 'idle',
      ),
  };
}

/** Calls during a run share the next run, which starts after they were made. */
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

/** Runs in workers: creates and fills the bucket, and compares it with the database periodically. */
export function maintainKeyFeed(options: KeyFeedMaintenanceOptions): Loop {
  const { nats, clock, log, prefix, compareEveryMs = defaultCompareIntervalMs } = options;
  const name = keyFeedBucket(prefix);
  const spec: BucketSpec = { name, replicas: options.replicas, maxBytes: options.maxBytes };
  const bucket = nats.bucket(name);
  const writer = createWriter(options);
  let comparedAtMs: number | null = null;

  /** A bucket that replaced another has another id, or none. */
  async function readOrCreateBucketId(): Promise<string> {
    const standing = await bucket.read(KEY_FEED_ID);
    if (standing?.value != null) return standing.value;
    const id = randomUUID();
    if ((await bucket.write(KEY_FEED_ID, id, standing?.revision ?? 0)) !== null) return id;
    return readOrCreateBucketId();
  }

  /** The catalog first: gateways can then serve callers whose entries exist while others are still being written. */
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
    if (isNew) log.info({ changed }, 'the key feed is filled');
    else if (changed > 0) log.warn({ changed }, 'repaired differences between key feed and database');
    // One row that cannot be converted must not stop all gateways.
    if (failed > 0) log.error({ failed }, 'could not write entries of the key feed');
    comparedAtMs = clock.monotonicMs();
  }

  /** False if the state is already set, or if another bucket has replaced the one that was filled. */
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

  /** Removes unused contract parts and models of another database: models of this database are never deleted. */
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
