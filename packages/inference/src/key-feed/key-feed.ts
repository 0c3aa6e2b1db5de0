import {
  KEY_FEED_FILL_STATE,
  keyFeedBucket,
  contractPartEntry,
  usesPlaintext,
  keyEntry,
  modelEntry,
  openEngineKey,
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
import type { BucketEntry, BucketFollower, NatsClient } from '@millrace/platform/nats';
import type { Sealer } from '@millrace/platform/secrets';
import type { z } from 'zod';
import { createModelCatalog } from './model-catalog.ts';
import { EntryCache } from './entry-cache.ts';

/** Beyond this age a revoked key could still be accepted, so no new request is admitted. */
const defaultStaleAfterMs = 5_000;
const defaultOpenTimeoutMs = 5_000;
const lookUpTimeoutMs = 2_000;

type Mode = KeyEntry['mode'];

export interface KeyFeedOptions {
  readonly nats: Pick<NatsClient, 'bucket'>;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Opens the keys of engines. */
  readonly sealer: Sealer;
  /** Whether engines on other machines need no TLS. */
  readonly allowPlaintext: boolean;
  /** Prefix of this installation's NATS names. */
  readonly prefix?: string;
  readonly staleAfterMs?: number;
  /** Maximum wait for the first copy. After it the feed opens stale and fills later. */
  readonly openWithinMs?: number;
  /** Limit for keys and for organisations in memory; the oldest are evicted and read again when needed. */
  readonly maxEntries?: number;
}

/** The keys, organisations and models that a gateway knows. Returns values in memory without a promise. */
export interface KeyFeed {
  /** Null: no such key. Rejects with `SERVICE_UNAVAILABLE` if the look-up fails. */
  findKey(publicId: string): KeyEntry | null | Promise<KeyEntry | null>;
  /** Whether `findKey` needs no further read of NATS. */
  knowsKey(publicId: string): boolean;
  organisation(orgId: string): OrganisationEntry | null | Promise<OrganisationEntry | null>;
  /** By name or alias; null if the organisation must not see the model. In test mode the mock serves it. */
  model(name: string, orgId: string, mode: Mode): ModelEntry | null;
  /** All models that the organisation can see, sorted by name. */
  models(orgId: string, mode: Mode): readonly ModelEntry[];
  /**
   * No proof for too long that no change was missed, or a bucket without catalog: admit nothing and return `KEY_FEED_STALE`.
   */
  isStale(): boolean;
  /** Calls the listener after models changed; returns a function that unsubscribes. */
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

  /** A model that cannot be parsed is not sold. */
  function applyModel(entry: BucketEntry): void {
    let model: ModelEntry | null = null;
    try {
      model =
        entry.value === null ? null : withUsableDeployments(options, jsonParser(modelEntry)(entry.value));
    } catch (error) {
      log.error({ err: error, key: entry.key }, 'cannot parse a model of the key feed');
    }
    catalog.put(entry.key, model);
  }

  /** A part that cannot be parsed counts as missing: the model is refused, not sold at the list price. */
  function applyContractPart(entry: BucketEntry): void {
    let part: ContractPartEntry | null = null;
    try {
      part = entry.value === null ? null : jsonParser(contractPartEntry)(entry.value);
    } catch (error) {
      log.error({ err: error, key: entry.key }, 'cannot parse contract prices of the key feed');
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
    // Parts after the models that name them: a part written meanwhile is then newer than its model, never older.
    present: [keyFeedKeys.allModels, keyFeedKeys.allContractParts, KEY_FEED_FILL_STATE],
    onBegin: (present) => {
      filled = null;
      keys.clear();
      organisations.clear();
      catalog.clear();
      present.forEach(applyEntry);
      log.info({ models: catalog.size() }, 'key feed loaded');
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

  await waitUntilReady(follower, clock, options.openWithinMs ?? defaultOpenTimeoutMs);
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

/** Resolves when the first copy is complete, or when the time is over. */
async function waitUntilReady(
  follower: Pick<BucketFollower, 'ready'>,
  clock: Pick<Clock, 'sleep'>,
  timeoutMs: number,
): Promise<void> {
  const waiting = new AbortController();
  const timeout = clock.sleep(timeoutMs, waiting.signal);
  await Promise.race([follower.ready(), timeout.catch(() => undefined)]);
  waiting.abort();
}

/** A deployment that needs TLS, or whose key cannot be opened, is unusable: the others serve the model. */
function withUsableDeployments(
  { sealer, allowPlaintext, log }: KeyFeedOptions,
  model: ModelEntry,
): ModelEntry {
  const deployments = model.deployments.flatMap((deployment) => {
    if (!allowPlaintext && usesPlaintext(deployment)) {
      log.error(
        { model: model.name, deployment: deployment.id },
        'a deployment on another machine has no TLS and gets no requests; change its address to https://, or set MILLRACE_ALLOW_PLAINTEXT_ENGINES=true if no other machine can read that network',
      );
      return [];
    }
    try {
      return [openEngineKey(sealer, deployment)];
    } catch (error) {
      log.error(
        { err: error, model: model.name, deployment: deployment.id },
        'cannot open the engine key of a deployment: MILLRACE_KEY_FEED_KEYS of this gateway lacks the key of the workers',
      );
      return [];
    }
  });
  return { ...model, deployments };
}

function jsonParser<Schema extends z.ZodType>(schema: Schema): (text: string) => z.infer<Schema> {
  return (text) => schema.parse(JSON.parse(text));
}
