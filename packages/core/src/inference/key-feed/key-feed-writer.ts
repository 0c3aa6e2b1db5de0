import type { Timer } from '@millrace/platform/clock';
import { confirmReads, type Db, type Reader } from '@millrace/platform/db';
import { fromUuid } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import type { Bucket, BucketEntry } from '@millrace/platform/nats';
import type { Sealer } from '@millrace/platform/secrets';
import { modelTimelines, readPricesOfModels } from '../../prices/index.ts';
import { keyFeedKeys } from '../key-feed.ts';
import { keyFeedSealContext } from './engine-keys.ts';
import { keyEntryOf, modelEntryOf, organisationEntryOf } from './key-feed-entries.ts';
import type { ModelRecord, RateSettings } from './key-feed-entries.ts';
import { modelPayloads, singlePayload, type EntryPayloads } from './split-contract-prices.ts';
import { readKeyRecords, readOrganisationRecords, type KeyFeedEntryKind } from './key-feed.store.ts';
import { sealContextOf, type Deployment } from '../catalog/catalog.ts';
import { findModels, findEnabledDeployments } from '../catalog/catalog.store.ts';

const maxAttempts = 8;
const concurrency = 16;

export interface KeyFeedWriterOptions {
  readonly db: Db;
  readonly bucket: Bucket;
  /** Opens the engine keys of the database. */
  readonly sealer: Sealer;
  /** Seals them for gateways: repeatable, so that an unchanged entry is not written again. */
  readonly feedSealer: Sealer;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'error'>;
  readonly rates: RateSettings;
}

export interface EntryWriteResult {
  readonly written: number;
  readonly failed: ReadonlyMap<string, unknown>;
}

/**
 * Writes key feed entries. The order keeps concurrent writers correct: first read the revision in the bucket, then the row in
 * the database, then write only if that revision is unchanged. So an old row never overwrites a newer one.
 */
export interface KeyFeedWriter {
  /** Updates one entry with its contract parts. Returns whether anything differed. */
  writeOne(kind: KeyFeedEntryKind, ref: string): Promise<boolean>;
  /**
   * Updates these entries. Returns how many differed, and the failed ones with their errors; a failed entry delays no other.
   * Rejects if so many fail without a success that NATS or the database must be the cause.
   */
  write(kind: KeyFeedEntryKind, refs: readonly string[]): Promise<EntryWriteResult>;
  /** The same for very many entries, by a bulk read that may be stale: the next comparison finds what it misses. */
  compare(
    kind: KeyFeedEntryKind,
    refs: readonly string[],
  ): Promise<{ readonly written: number; readonly failed: number }>;
}

export function createKeyFeedWriter(options: KeyFeedWriterOptions): KeyFeedWriter {
  const { bucket } = options;

  async function writeOne(kind: KeyFeedEntryKind, ref: string): Promise<boolean> {
    const key = keyOf(kind, ref);
    let isChanged = false;
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const standing = await bucket.read(key);
      const entries = kind === 'model' ? await readPartEntries(ref) : new Map<string, BucketEntry>();
      const wanted = (await readConfirmed(options, kind, [ref])).get(ref) ?? singlePayload(null);
      const result = await writePayloads(key, { standing, entries }, wanted);
      if (result === 'same') return isChanged;
      isChanged ||= result === 'written';
      // With contract parts, another writer may have removed one as unused meanwhile: check again.
      if (result === 'written' && entries.size === 0 && wanted.pieces.size === 0) return true;
    }
    throw new Error(`Other writers changed the entry ${key} during each of ${maxAttempts} attempts.`);
  }

  async function readPartEntries(model: string): Promise<ReadonlyMap<string, BucketEntry>> {
    const entries = new Map<string, BucketEntry>();
    for await (const entry of bucket.list(keyFeedKeys.contractPartsOf(model))) entries.set(entry.key, entry);
    return entries;
  }

  /** Parts before the entry that names them, unused parts after it: a gateway that applies this order misses none. */
  async function writePayloads(
    key: string,
    before: { readonly standing: BucketEntry | null; readonly entries: ReadonlyMap<string, BucketEntry> },
    wanted: EntryPayloads,
  ): Promise<'same' | 'written' | 'outrun'> {
    const leftovers = [...before.entries.keys()].filter((part) => !wanted.pieces.has(part));
    const steps: readonly (readonly [string, BucketEntry | null, string | null])[] = [
      ...[...wanted.pieces].map(([part, text]) => [part, before.entries.get(part) ?? null, text] as const),
      [key, before.standing, wanted.text],
      ...leftovers.map((part) => [part, before.entries.get(part) ?? null, null] as const),
    ];
    const differing = steps.filter(([, standing, text]) => (standing?.value ?? null) !== text);
    for (const [name, standing, text] of differing) {
      if ((await bucket.write(name, text, standing?.revision ?? 0)) === null) return 'outrun';
    }
    return differing.length === 0 ? 'same' : 'written';
  }

  async function write(kind: KeyFeedEntryKind, refs: readonly string[]): Promise<EntryWriteResult> {
    const failed = new Map<string, unknown>();
    let [written, isAnyDone] = [0, false];
    await forEachConcurrently(refs, async (ref) => {
      try {
        written += (await writeOne(kind, ref)) ? 1 : 0;
        isAnyDone = true;
      } catch (error) {
        failed.set(ref, error);
        if (!isAnyDone && failed.size >= concurrency) throw error;
      }
    });
    return { written, failed };
  }

  return {
    writeOne,

    write,

    async compare(kind, refs) {
      const standing = await bucket.readFromAnyReplica(refs.map((ref) => keyOf(kind, ref)));
      const wanted = await readConfirmed(options, kind, refs).catch(() => null);
      // A page with a row that cannot be converted is written one by one.
      if (wanted === null) return { written: 0, failed: (await write(kind, refs)).failed.size };
      const textOf = (ref: string): string | null => wanted.get(ref)?.text ?? null;
      // The bulk read does not include contract parts, so a model that has some is read again with them.
      const divided = refs.filter((ref) => (wanted.get(ref)?.pieces.size ?? 0) > 0);
      const differing = refs.filter(
        (ref) => !divided.includes(ref) && (standing.get(keyOf(kind, ref))?.value ?? null) !== textOf(ref),
      );
      const conflicts: string[] = [];
      await forEachConcurrently(differing, async (ref) => {
        const key = keyOf(kind, ref);
        const revision = standing.get(key)?.revision ?? 0;
        if ((await bucket.write(key, textOf(ref), revision)) === null) conflicts.push(ref);
      });
      const again = await write(kind, [...conflicts, ...divided]);
      return { written: differing.length - conflicts.length + again.written, failed: again.failed.size };
    },
  };
}

function keyOf(kind: KeyFeedEntryKind, ref: string): string {
  switch (kind) {
    case 'key':
      return keyFeedKeys.key(ref);
    case 'organisation':
      return keyFeedKeys.organisation(fromUuid('org', ref));
    case 'model':
      return keyFeedKeys.model(ref);
  }
}

/** An earlier primary may still answer reads after a failover. Its rows could make a revoked key valid again. */
async function readConfirmed(
  options: KeyFeedWriterOptions,
  kind: KeyFeedEntryKind,
  refs: readonly string[],
): Promise<ReadonlyMap<string, EntryPayloads>> {
  if (refs.length === 0) return new Map();
  const reading = { name: 'read for the key feed', isolation: 'read committed', withAnyClock: true } as const;
  return options.db.transaction(reading, async (tx) => {
    const desired = await readDesired({ ...options, db: tx }, kind, refs);
    await confirmReads(tx);
    return desired;
  });
}

type ReadOptions = Omit<KeyFeedWriterOptions, 'db'> & { readonly db: Reader };

/** The desired entries; a ref that is not in the result must have no entry. */
async function readDesired(
  options: ReadOptions,
  kind: KeyFeedEntryKind,
  refs: readonly string[],
): Promise<ReadonlyMap<string, EntryPayloads>> {
  const { db, rates } = options;
  switch (kind) {
    case 'key': {
      const keys = await readKeyRecords(db, refs);
      return new Map(keys.map((key) => [key.publicId, singlePayload(keyEntryOf(key, db.clock.nowMs()))]));
    }
    case 'organisation': {
      const facts = await readOrganisationRecords(db, refs);
      return new Map(
        facts.map(({ ref, ...facts }) => [ref, singlePayload(organisationEntryOf(facts, rates))]),
      );
    }
    case 'model':
      return readModelPayloads(options, refs);
  }
}

async function readModelPayloads(
  options: ReadOptions,
  names: readonly string[],
): Promise<ReadonlyMap<string, EntryPayloads>> {
  const { db } = options;
  const now = options.db.clock.now();
  // Sequential reads are safe: a commit in between leaves its own change record, so the entry is written again.
  const models = await findModels(db, names);
  const deployments = await findEnabledDeployments(db, names);
  const prices = await readPricesOfModels(db, names, { since: now, orgIds: 'all' });
  return new Map(
    models.map((model) => {
      const own = deployments.filter((deployment) => deployment.model === model.name);
      const modelPrices = prices.filter(({ subject }) => subject.model === model.name);
      const facts = {
        model,
        deployments: own.flatMap((deployment) => resealApiKey(options, deployment)),
        prices: modelTimelines(modelPrices, model.name, now),
      };
      return [model.name, modelPayloads(modelEntryOf(facts))];
    }),
  );
}

/** A deployment whose key cannot be opened is unusable: the others serve the model. */
function resealApiKey(
  { sealer, feedSealer, log }: ReadOptions,
  deployment: Deployment,
): readonly ModelRecord['deployments'][number][] {
  const { id, sealedApiKey } = deployment;
  try {
    if (sealedApiKey === null) return [{ deployment, sealedApiKey }];
    const apiKey = sealer.open(sealedApiKey, sealContextOf(id));
    return [{ deployment, sealedApiKey: feedSealer.seal(apiKey, keyFeedSealContext(deployment)) }];
  } catch (error) {
    log.error(
      { err: error, deployment: id },
      'cannot open the sealed engine key of a deployment; leaving the deployment out',
    );
    return [];
  }
}

/** Runs with limited concurrency, and starts no more after a failure. */
async function forEachConcurrently(refs: readonly string[], run: (ref: string) => Promise<void>) {
  const rest = [...refs];
  const work = async (): Promise<void> => {
    for (let ref = rest.pop(); ref !== undefined; ref = rest.pop()) {
      await run(ref).catch((error: unknown) => {
        rest.length = 0;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, refs.length) }, work));
}
