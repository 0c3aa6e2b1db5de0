import {
  KEY_FEED_FILL_STATE,
  keyFeedBucket,
  contractPartEntry,
  keyEntry,
  modelEntry,
  organisationEntry,
  keyFeedKeys,
  parseFillState,
  type KeyFeedFillState,
  type ContractPartEntry,
  type KeyEntry,
  type ModelEntry,
  type OrganisationEntry,
} from '@millrace/core/inference';
import type { Clock } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';
import type { BucketEntry, NatsClient } from '@millrace/platform/nats';
import type { z } from 'zod';
import { createModelCatalog } from './model-catalog.ts';
import { EntryCache } from './entry-cache.ts';

/** A gateway that knows no more than this may be wrong about a revoked key, so it admits nothing. */
const defaultStaleAfterMs = 5_000;
const defaultOpenTimeoutMs = 5_000;
const lookUpTimeoutMs = 2_000;

type Mode = KeyEntry['mode'];

export interface KeyFeedOptions {
  readonly nats: Pick<NatsClient, 'bucket'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Of the installation's names in the broker. */
  readonly prefix?: string;
  readonly staleAfterMs?: number;
  /** How long to wait for the first copy. Without it the book opens stale, and fills itself when it can. */
  readonly openWithinMs?: number;
  /** Keys and organisations kept in memory, each; those longest known go first, and are looked up again when needed. */
  readonly maxEntries?: number;
}

/** What a gateway knows of keys, organisations and models. Answers without a promise whatever is in memory. */
export interface KeyFeed {
  /** Null: there is no such key. Rejects with `SERVICE_UNAVAILABLE` when it cannot be looked up. */
  findKey(publicId: string): KeyEntry | null | Promise<KeyEntry | null>;
  /** Whether `findKey` answers without a read of NATS of its own. */
  knowsKey(publicId: string): boolean;
  organisation(orgId: string): OrganisationEntry | null | Promise<OrganisationEntry | null>;
  /** By name or alias, as this organisation sees it: what it may not see does not exist. In test mode the mock serves it. */
  model(name: string, orgId: string, mode: Mode): ModelEntry | null;
  /** All that this organisation sees, by name. */
  models(orgId: string, mode: Mode): readonly ModelEntry[];
  /** Too long without word from the broker, or a bucket without its catalog: admit nothing, answer `KEY_FEED_STALE`. */
  isStale(): boolean;
  /** Calls back after models have changed; answers how to stop that. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}

export async function openKeyFeed(options: KeyFeedOptions): Promise<KeyFeed> {
  const { clock, log, staleAfterMs = defaultStaleAfterMs, maxEntries = 50_000 } = options;
  const bucket = options.nats.bucket(keyFeedBucket(options.prefix ?? ''));
  const catalog = createModelCatalog();
  const listeners = new Set<() => void>();
  let filled: KeyFeedFillState | null = null;

  const lookUp = { clock, bucket, withinMs: lookUpTimeoutMs, maxEntries, isWhole: () => filled === 'all' };
  const keys = new EntryCache<KeyEntry>({ ...lookUp, keyOf: keyFeedKeys.key, parse: jsonParser(keyEntry) });
  const organisations = new EntryCache<OrganisationEntry>({
    ...lookUp,
    keyOf: keyFeedKeys.organisation,
    parse: jsonParser(organisationEntry),
  });

  /** What cannot be read is as if it were not there: a gateway does not sell what it does not understand. */
  function applyModel(entry: BucketEntry): void {
    let model: ModelEntry | null = null;
    try {
      model = entry.value === null ? null : jsonParser(modelEntry)(entry.value);
    } catch (error) {
      log.error({ err: error, key: entry.key }, 'a model of the gateway book cannot be read');
    }
    catalog.put(entry.key, model);
  }

  /** A part that cannot be read is missing: the model is then refused, not sold at the list price. */
  function applyContractPart(entry: BucketEntry): void {
    let part: ContractPartEntry | null = null;
    try {
      part = entry.value === null ? null : jsonParser(contractPartEntry)(entry.value);
    } catch (error) {
      log.error({ err: error, key: entry.key }, 'contract prices of the gateway book cannot be read');
    }
    catalog.putPart(entry.key, part);
  }

  function applyEntry(entry: BucketEntry): void {
    const kind = entry.key.slice(0, entry.key.indexOf('.'));
    if (kind === 'key') keys.take(entry);
    else if (kind === 'org') organisations.take(entry);
    else if (kind === 'model') applyModel(entry);
    else if (kind === 'contracts') applyContractPart(entry);
    else if (entry.key === KEY_FEED_FILL_STATE) filled = parseFillState(entry.value);
  }

  function notifyListeners(): void {
    for (const listener of listeners) listener();
  }

  const follower = bucket.follow({
    // Parts after the models that name them: a part that was written meanwhile is newer, never older, than its model.
    present: [keyFeedKeys.allModels, keyFeedKeys.allContractParts, KEY_FEED_FILL_STATE],
    onBegin: (present) => {
      filled = null;
      keys.clear();
      organisations.clear();
      catalog.clear();
      present.forEach(applyEntry);
      log.info({ models: catalog.size() }, 'the gateway book was read');
      notifyListeners();
    },
    onChange: (entry) => {
      applyEntry(entry);
      if (/^(model|contracts)\./.test(entry.key)) notifyListeners();
    },
  });

  const ageMs = (): number => {
    const freshAtMs = follower.freshAtMs();
    return freshAtMs === null ? Number.POSITIVE_INFINITY : clock.monotonicMs() - freshAtMs;
  };

  const waiting = new AbortController();
  const timeout = clock.sleep(options.openWithinMs ?? defaultOpenTimeoutMs, waiting.signal);
  await Promise.race([follower.ready(), timeout.catch(() => undefined)]);
  waiting.abort();
  return {
    findKey: (publicId) => keys.find(publicId),
    knowsKey: (publicId) => keys.knows(publicId),
    organisation: (orgId) => organisations.find(orgId),
    model: (name, orgId, mode) => catalog.find(name, orgId, mode),
    models: (orgId, mode) => catalog.list(orgId, mode),
    isStale: () => filled === null || ageMs() > staleAfterMs,
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => follower.close(),
  };
}

function jsonParser<Schema extends z.ZodType>(schema: Schema): (text: string) => z.infer<Schema> {
  return (text) => schema.parse(JSON.parse(text));
}
