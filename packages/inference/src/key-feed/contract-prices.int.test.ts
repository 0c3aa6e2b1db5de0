import {
  createKeyFeedSealer,
  keyFeedBucket,
  keyFeedKeys,
  createKeyFeedSync,
  maintainKeyFeed,
  type KeyFeedMaintenanceOptions,
  type ModelEntry,
} from '@millrace/core/inference';
import { systemClock } from '@millrace/platform/clock';
import { Fault } from '@millrace/platform/fault';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import type { Bucket, BucketEntry, NatsClient } from '@millrace/platform/nats';
import { createSealer } from '@millrace/platform/secrets';
import {
  connectTestNats,
  createTestDatabase,
  dropBucket,
  eventually,
  testIds,
  testNames,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { openKeyFeed, type KeyFeed } from './key-feed.ts';
import { priceOf } from './model-catalog.ts';

/** Contract prices that exceed one NATS message, from the price list to the gateway. */

const contracts = 5_000;
const listPrice = '200000000';
const contractPrice = '100000000';
const maxBytes = 33_554_432;
const log = createLogger({ name: 'test', level: 'silent' });
const feedSealer = createKeyFeedSealer([{ id: 'feed', key: new Uint8Array(32).fill(8) }]);
const sealer = createSealer({ keys: [{ id: 'test', key: new Uint8Array(32).fill(7) }], activeId: 'test' });

let database: TestDatabase;
let nats: NatsClient;
let contractors: readonly OrgId[];
/** Prices are never deleted, so each test has its own model. */
let model: string;
let prefix: string;
let bucket: Bucket;

async function statement<Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return (await database.query<Row>(text, [...values])).rows;
}

async function addPrices(orgIds: readonly (OrgId | null)[], nanoUsd: number): Promise<void> {
  await statement(
    `insert into prices (id, org_id, subject_kind, model, model_unit, unit, price_nano_usd, valid_from, created_at)
     select id, org_id, 'model', $1, 'prompt_token', 'token', $2, to_timestamp(0), now()
       from unnest($3::uuid[], $4::uuid[]) added (id, org_id)`,
    [
      ...[model, nanoUsd, orgIds.map(() => testIds.nextUuid())],
      orgIds.map((orgId) => (orgId === null ? null : toUuid(orgId))),
    ],
  );
}

async function endContracts(orgIds: readonly OrgId[]): Promise<void> {
  await statement('update prices set valid_until = now() where model = $1 and org_id = any ($2::uuid[])', [
    ...[model, orgIds.map(toUuid)],
  ]);
}

/** Replaces the notes of 5 000 organisations and prices by one note for the model. */
async function keepOneNote(): Promise<void> {
  await statement('delete from book_changes');
  await statement(`insert into book_changes (kind, ref, changed_at) values ('model', $1, now())`, [model]);
}

beforeAll(async () => {
  database = await createTestDatabase();
  nats = await connectTestNats();
  contractors = Array.from({ length: contracts }, () => testIds.next('org'));
  await statement(
    `insert into organisations (id, name, slug, home_cell)
     select id, 'Contractor', 'org-' || id, 0 from unnest($1::uuid[]) id`,
    [contractors.map(toUuid)],
  );
});
afterAll(async () => {
  await nats.close();
  await database.drop();
});

beforeEach(async () => {
  prefix = testNames().natsPrefix;
  const name = keyFeedBucket(prefix);
  await nats.ensureBucket({ name, replicas: 1, maxBytes });
  onTestFinished(() => dropBucket(name));
  bucket = nats.bucket(name);
  model = `maker/contracted-${prefix}`;
  await statement(
    `insert into inference_models (name, mode, modality, input_modalities, owned_by, enabled, created_at, updated_at)
     values ($1, 'live', 'chat', '{text}', 'maker', true, now(), now())`,
    [model],
  );
  await addPrices([null], 200);
  await addPrices(contractors, 100);
  await keepOneNote();
});

function options(): KeyFeedMaintenanceOptions {
  const rates = { organisationRpm: 60, fundedRpm: 600 };
  const { db } = database;
  return {
    ...{ db, nats, prefix, sealer, feedSealer, clock: systemClock, log, rates },
    ...{ flushWithinMs: 60_000, replicas: 1, maxBytes },
  };
}

async function open(): Promise<KeyFeed> {
  const feed = await openKeyFeed({
    nats,
    clock: systemClock,
    log,
    prefix,
    sealer: feedSealer,
    allowPlaintext: false,
  });
  onTestFinished(() => feed.close());
  return feed;
}

/** The price that the gateway would charge, or the reason of its refusal. */
function charged(feed: KeyFeed, orgId: string): string | null {
  const entry = feed.model(model, orgId, 'live');
  if (entry === null) return 'MODEL_NOT_FOUND';
  try {
    return priceOf(entry, orgId, systemClock.nowMs())?.promptNanoUsdPerMillion ?? null;
  } catch (error) {
    if (error instanceof Fault) return error.reason;
    throw error;
  }
}

async function listEntries(): Promise<readonly BucketEntry[]> {
  const found: BucketEntry[] = [];
  for await (const entry of bucket.list(keyFeedKeys.contractPartsOf(model))) found.push(entry);
  return found.filter(({ value }) => value !== null);
}

const modelText = async () =>
  (await bucket.read(keyFeedKeys.model(model)))?.value ?? expect.fail('not written');

describe('key feed with a model that has 5 000 contracts', () => {
  it('gives each organisation its contract price', async () => {
    const follows = await open();
    await createKeyFeedSync(options()).flush();
    expect(JSON.parse(await modelText())).toMatchObject({ contractPrices: {} });
    const startsLater = await open();
    await eventually({ what: 'the model' }, () => charged(follows, 'org_other') === listPrice);
    for (const feed of [follows, startsLater]) {
      expect(new Set(contractors.map((orgId) => charged(feed, orgId)))).toEqual(new Set([contractPrice]));
      expect(charged(feed, 'org_other')).toBe(listPrice);
    }
  });

  it('follows a removed contract and returns to one entry when few contracts remain', async () => {
    const [removed = expect.fail(), retained = expect.fail(), ...others] = contractors;
    const sync = createKeyFeedSync(options());
    await sync.flush();
    const feed = await open();
    expect((await listEntries()).length).toBeGreaterThan(1);
    await endContracts([removed]);
    await keepOneNote();
    await sync.flush();
    await eventually({ what: 'the list price' }, () => charged(feed, removed) === listPrice);
    expect(charged(feed, retained)).toBe(contractPrice);
    await endContracts(others);
    await keepOneNote();
    await sync.flush();
    expect(await listEntries()).toEqual([]);
    await eventually(
      { what: 'the list price of the others' },
      () => charged(feed, others[0] ?? '') === listPrice,
    );
    expect([charged(feed, retained), charged(await open(), retained)]).toEqual([
      contractPrice,
      contractPrice,
    ]);
  });

  it('refuses the model while a part is missing; the comparison restores the part and removes leftovers', async () => {
    await createKeyFeedSync(options()).flush();
    const feed = await open();
    const before = await listEntries();
    const missing = before[0] ?? expect.fail('no parts');
    const [leftover, ofNoModel] = [
      keyFeedKeys.contractPart(model, 1_024, 7),
      keyFeedKeys.contractPart('gone', 2, 0),
    ];
    for (const key of [leftover, ofNoModel]) await bucket.write(key, missing.value, 0);
    await bucket.write(missing.key, null, missing.revision);
    await eventually({ what: 'the refusal' }, () => charged(feed, 'org_other') === 'SERVICE_UNAVAILABLE');
    expect(new Set(contractors.map((orgId) => charged(feed, orgId)))).toEqual(
      new Set(['SERVICE_UNAVAILABLE']),
    );
    expect(charged(await open(), 'org_other')).toBe('SERVICE_UNAVAILABLE');
    const loop = maintainKeyFeed(options());
    onTestFinished(() => loop.stop());
    await eventually(
      { what: 'the list price after the repair' },
      () => charged(feed, 'org_other') === listPrice,
    );
    expect(new Set(contractors.map((orgId) => charged(feed, orgId)))).toEqual(new Set([contractPrice]));
    await eventually(
      { what: 'the removal of the leftovers' },
      async () => (await bucket.read(ofNoModel))?.value === null,
    );
    const keysOf = (entries: readonly BucketEntry[]) => entries.map(({ key }) => key).toSorted();
    expect(keysOf(await listEntries())).toEqual(keysOf(before));
  });

  it('has all parts after several writers disabled and enabled the model concurrently', async () => {
    const writers = Array.from({ length: 3 }, () => createKeyFeedSync(options()));
    const flushes: Promise<void>[] = [];
    for (const enabled of [true, false, true, false, true]) {
      await statement('update inference_models set enabled = $2 where name = $1', [model, enabled]);
      flushes.push(...writers.map((writer) => writer.flush()));
      await flushes[flushes.length - writers.length];
    }
    await Promise.all(flushes);
    const feed = await open();
    await eventually({ what: 'the contract prices' }, async () => {
      // A writer that lost too many races has postponed the note.
      await writers[0]?.flush();
      return contractors.every((orgId) => charged(feed, orgId) === contractPrice);
    });
    const entry = JSON.parse(await modelText()) as ModelEntry;
    expect((await listEntries()).length).toBe(entry.contractParts);
  });
});
