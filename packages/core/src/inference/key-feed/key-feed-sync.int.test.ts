import { toUuid, type OrgId, type UserId } from '@millrace/platform/ids';
import type { Tx } from '@millrace/platform/db';
import type { Loop } from '@millrace/platform/lifecycle';
import { connectNats, type Bucket } from '@millrace/platform/nats';
import { createLogger } from '@millrace/platform/log';
import { nanoUsd } from '@millrace/platform/money';
import { createSealer, SealedSecretError } from '@millrace/platform/secrets';
import { systemClock } from '@millrace/platform/clock';
import {
  createTenant,
  createTestDatabase,
  dropBucket,
  eventually,
  failingCall,
  failingLoop,
  type ItemPoison,
  natsAccess,
  scaledLimitMs,
  startStopwatch,
  testEndpoints,
  testIds,
  testNames,
} from '@millrace/testing';
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createBudget } from '../../ledger/index.ts';
import { issueUnrestrictedKey, systemAuditContext, type ApiKey } from '../../identity/index.ts';
import {
  KEY_FEED_FILL_STATE,
  keyFeedBucket,
  keyFeedKeys,
  keyEntry,
  modelEntry,
  organisationEntry,
  parseFillState,
} from '../key-feed.ts';
import {
  createKeyFeedSync,
  maintainKeyFeed,
  type KeyFeedMaintenanceOptions,
  type KeyFeedSync,
} from './key-feed-sync.ts';
import { createKeyFeedSealer, openEngineKey } from './engine-keys.ts';
import { createKeyFeedWriter } from './key-feed-writer.ts';
import { createDeployment, createModel, updateModel } from '../catalog/catalog.service.ts';

const cause = systemAuditContext('test', 'live');
const sealer = createSealer({ keys: [{ id: 'test', key: new Uint8Array(32).fill(7) }], activeId: 'test' });
const feedSealer = createKeyFeedSealer([{ id: 'feed', key: new Uint8Array(32).fill(8) }]);
const log = createLogger({ name: 'test', level: 'silent' });
const rates = { organisationRpm: 60, fundedRpm: 600 };

let prefix: string;
let bucket: Bucket;
let sync: KeyFeedSync;
let tenant: { orgId: OrgId; ownerId: UserId };

const database = await createTestDatabase();
const nats = await connectNats({ ...natsAccess(), servers: testEndpoints().natsUrls, name: 'test', log });
afterAll(async () => {
  await nats.close();
  await database.drop();
});
beforeEach(async () => {
  prefix = testNames().natsPrefix;
  const name = keyFeedBucket(prefix);
  await nats.ensureBucket({ name, replicas: 1, maxBytes: 8_388_608 });
  onTestFinished(() => dropBucket(name));
  bucket = nats.bucket(name);
  sync = createKeyFeedSync(options());
  tenant = await createTenant(database.db);
});

function options(): KeyFeedMaintenanceOptions {
  const { db } = database;
  const bucketSize = { replicas: 1, maxBytes: 8_388_608 };
  const sealers = { sealer, feedSealer };
  const timing = { clock: systemClock, flushWithinMs: 20_000 };
  return { db, nats, prefix, ...sealers, ...timing, log, rates, ...bucketSize };
}

function inTransaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
  return database.db.transaction({ name: 'test', isolation: 'read committed' }, work);
}

/** Changes rows without the application, so that only triggers record the change. */
async function statement(text: string, values: readonly unknown[] = []): Promise<void> {
  await database.query(text, [...values]);
}

async function newKey(): Promise<ApiKey> {
  const user = { id: tenant.ownerId, name: 'Owner', email: 'o@example.com', image: null };
  const { key } = await inTransaction((tx) =>
    issueUnrestrictedKey(tx, cause, { orgId: tenant.orgId, user, mode: 'live', name: 'book' }),
  );
  return key;
}

const readKey = async (key: ApiKey) => {
  const entry = await bucket.read(keyFeedKeys.key(key.publicId));
  return entry?.value == null ? null : keyEntry.parse(JSON.parse(entry.value));
};
const readModel = async (name: string) => {
  const entry = await bucket.read(keyFeedKeys.model(name));
  if (entry?.value == null) return null;
  const model = modelEntry.parse(JSON.parse(entry.value));
  return { ...model, deployments: model.deployments.map((each) => openEngineKey(feedSealer, each)) };
};
const readOrganisation = async () => {
  const entry = await bucket.read(keyFeedKeys.organisation(tenant.orgId));
  return entry?.value == null ? null : organisationEntry.parse(JSON.parse(entry.value));
};

/** All messages that the bucket stores, as a reader of the stream sees them. */
async function readStoredTexts(): Promise<string> {
  let texts = '';
  for await (const { key, value } of bucket.list('>')) texts += `${key} ${value ?? ''}\n`;
  return texts;
}

const isFilled = async () => parseFillState((await bucket.read(KEY_FEED_FILL_STATE))?.value) === 'all';

function run(loop: Loop): void {
  onTestFinished(() => loop.stop());
}

const chat = {
  mode: 'live',
  modality: 'chat',
  inputModalities: ['text'],
  contextLength: 8_192,
  maxOutputTokens: 512,
  ownedBy: 'maker',
  enabled: true,
  aliases: [],
  fallbacks: [],
  visibleTo: null,
  requestsPerMinute: null,
} as const;

const place = {
  engine: 'llama.cpp',
  address: 'http://10.0.0.1:8080',
  upstreamModel: null,
  apiKey: null,
  region: 'us-central-1',
  weight: 100,
  maxConcurrency: null,
  enabled: true,
} as const;

describe('the key feed entry of a key', () => {
  it('has the rights of its user once its transaction is flushed', async () => {
    const key = await newKey();
    await sync.flush();
    const entry = await readKey(key);
    expect(entry).toMatchObject({ keyId: key.id, orgId: tenant.orgId, refusedFor: null, budgetIds: [] });
    expect(entry?.scopes).toContain('inference:write');
    expect(await readOrganisation()).toMatchObject({
      isSuspended: false,
      isFunded: false,
      requestsPerMinute: 60,
    });
  });

  it.each([
    [
      'revoked',
      `update api_keys set revoked_at = now(), revoked_reason = 'revoked', next_action_at = null where id = $1`,
    ],
    ['without its user', 'delete from members where org_id = (select org_id from api_keys where id = $1)'],
  ])('is rejected when it is %s, also by a manual statement', async (_, change) => {
    const key = await newKey();
    await sync.flush();
    await statement(change, [toUuid(key.id)]);
    await sync.flush();
    expect(await readKey(key)).toMatchObject({ refusedFor: 'API_KEY_REVOKED' });
  });

  it('loses the scopes that its user loses', async () => {
    const key = await newKey();
    await statement(`update members set role = 'billing' where org_id = $1`, [toUuid(tenant.orgId)]);
    await sync.flush();
    expect((await readKey(key))?.scopes).not.toContain('inference:write');
  });

  it('has the enforced budgets of the key, not notifying ones or those of the organisation', async () => {
    const [key, other] = [await newKey(), await newKey()];
    const budget = (
      name: string,
      keyIds: readonly ApiKey['id'][] | null,
      onExceeded: 'notify' | 'stop_new_work',
    ) =>
      inTransaction((tx) =>
        createBudget(tx, {
          ...{ orgId: tenant.orgId, mode: 'live', name, keyIds, period: 'day' },
          ...{ limit: nanoUsd(5_000_000_000n), thresholdsPercent: [], onExceeded },
        }),
      );
    await budget('whole', null, 'stop_new_work');
    const own = await budget('own', [key.id], 'stop_new_work');
    await budget('tells', [key.id], 'notify');
    await sync.flush();
    expect((await readKey(key))?.budgetIds).toEqual([own.id]);
    expect((await readKey(other))?.budgetIds).toEqual([]);
    await statement('update budgets set deleted_at = now() where id = $1', [toUuid(own.id)]);
    await sync.flush();
    expect((await readKey(key))?.budgetIds).toEqual([]);
  });

  it('follows a suspension and a first deposit, and so does that of its organisation', async () => {
    await statement(`update organisations set status = 'suspended', suspended_at = now() where id = $1`, [
      toUuid(tenant.orgId),
    ]);
    await statement('update organisations set funded_at = now() where id = $1', [toUuid(tenant.orgId)]);
    await sync.flush();
    expect(await readOrganisation()).toMatchObject({
      isSuspended: true,
      isFunded: true,
      requestsPerMinute: 600,
    });
  });

  it('is rejected within a second of the commit by the loop of any process, without a flush', async () => {
    const key = await newKey();
    await sync.flush();
    run(sync.start());
    await statement(
      `update api_keys set revoked_at = now(), revoked_reason = 'revoked', next_action_at = null where id = $1`,
      [toUuid(key.id)],
    );
    const stopwatch = startStopwatch();
    await eventually({ what: 'the refusal' }, async () => (await readKey(key))?.refusedFor !== null);
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(1_000));
  });
});

describe('the key feed entry of a model', () => {
  it('has names, deployments, sealed keys and prices from now on, including contracts', async () => {
    const name = `maker/${tenant.orgId}`;
    await inTransaction(async (tx) => {
      await createModel(tx, cause, { ...chat, name, aliases: [`${name}:latest`], visibleTo: [tenant.orgId] });
      await createDeployment(
        tx,
        cause,
        { sealer, allowPlaintext: true },
        { ...place, model: name, apiKey: 'sk-engine' },
      );
      await createDeployment(
        tx,
        cause,
        { sealer, allowPlaintext: true },
        { ...place, model: name, enabled: false },
      );
    });
    const price = `insert into prices (id, org_id, subject_kind, model, model_unit, unit, price_nano_usd, valid_from, created_at)
      values ($6, $1, 'model', $2, $3, 'token', $4, $5, now())`;
    await statement(price, [null, name, 'prompt_token', 200, new Date(0), testIds.nextUuid()]);
    await statement(price, [null, name, 'completion_token', 600, new Date(0), testIds.nextUuid()]);
    await statement(price, [
      null,
      name,
      'prompt_token',
      300,
      new Date(4_000_000_000_000),
      testIds.nextUuid(),
    ]);
    await statement(price, [
      toUuid(tenant.orgId),
      name,
      'prompt_token',
      100,
      new Date(0),
      testIds.nextUuid(),
    ]);
    await sync.flush();
    const entry = (await readModel(name)) ?? expect.fail('not there');
    expect(entry.aliases).toEqual([`${name}:latest`]);
    expect(entry.visibleTo).toEqual([tenant.orgId]);
    expect(entry.deployments).toHaveLength(1);
    expect(entry.deployments[0]).toMatchObject({
      apiKey: 'sk-engine',
      upstreamModel: name,
      engine: 'llama.cpp',
    });
    const [now, later] = entry.prices;
    expect([entry.prices.length, now?.fromMs, now?.untilMs, later?.fromMs]).toEqual([
      ...[2, null, 4_000_000_000_000],
      4_000_000_000_000,
    ]);
    expect([now?.price.promptNanoUsdPerMillion, later?.price.promptNanoUsdPerMillion]).toEqual([
      '200000000',
      '300000000',
    ]);
    const contract = entry.contractPrices[tenant.orgId]?.[0]?.price;
    expect([contract?.promptNanoUsdPerMillion, contract?.completionNanoUsdPerMillion]).toEqual([
      '100000000',
      '600000000',
    ]);
  });

  it('is removed while the model is disabled, and each change is written once', async () => {
    const name = `maker/off-${tenant.orgId}`;
    await inTransaction((tx) => createModel(tx, cause, { ...chat, name }));
    await sync.flush();
    const before = await bucket.read(keyFeedKeys.model(name));
    await sync.flush();
    expect(await bucket.read(keyFeedKeys.model(name))).toEqual(before);
    await inTransaction((tx) => updateModel(tx, cause, name, { enabled: false, reason: 'broken' }));
    await sync.flush();
    expect(await readModel(name)).toBeNull();
    await inTransaction((tx) => updateModel(tx, cause, name, { enabled: true, reason: 'mended' }));
    await sync.flush();
    expect(await readModel(name)).toMatchObject({ name });
  });

  it('leaves out a deployment whose key cannot be unsealed', async () => {
    const name = `maker/sealed-${tenant.orgId}`;
    const [broken, sound] = await inTransaction(async (tx) => {
      await createModel(tx, cause, { ...chat, name });
      return [
        await createDeployment(
          tx,
          cause,
          { sealer, allowPlaintext: true },
          { ...place, model: name, apiKey: 'sk' },
        ),
        await createDeployment(tx, cause, { sealer, allowPlaintext: true }, { ...place, model: name }),
      ];
    });
    await statement(`update inference_deployments set sealed_api_key = 'v1.other.AAAA' where id = $1`, [
      toUuid(broken.id),
    ]);
    await sync.flush();
    expect((await readModel(name))?.deployments.map(({ id }) => id)).toEqual([sound.id]);
  });
});

describe('a row that cannot be converted', () => {
  describe(failingLoop('write the gateway book'), () => {
    it('of a model with 600 changes does not hide a revoked key', async () => {
      const key = await newKey();
      await expect.poll(() => sync.flush().then(() => readKey(key))).toMatchObject({ refusedFor: null });
      const name = `maker/stuck-${tenant.orgId}`;
      await inTransaction((tx) => createModel(tx, cause, { ...chat, name }));
      await statement(
        `insert into prices (id, subject_kind, model, model_unit, unit, price_nano_usd, valid_from, created_at)
         values (gen_random_uuid(), 'model', $1, 'prompt_token', 'token', 1, now(), now())`,
        [name],
      );
      onTestFinished(() => statement('update inference_models set enabled = false where name = $1', [name]));
      // More than one batch, all of them before the change of the key.
      await statement(
        `insert into book_changes (kind, ref, changed_at)
         select 'model', $1, now() - interval '1 minute' from generate_series(1, 600)`,
        [name],
      );
      await statement(
        `update api_keys set revoked_at = now(), revoked_reason = 'revoked', next_action_at = null where id = $1`,
        [toUuid(key.id)],
      );
      await expect
        .poll(() => sync.flush().then(() => readKey(key)))
        .toMatchObject({ refusedFor: 'API_KEY_REVOKED' });
      expect(await readModel(name)).toBeNull();
    });

    it.each<ItemPoison>(['throws', 'hangs'])(
      'whose write to NATS %s does not delay other entries',
      async (how) => {
        const name = `maker/unwritten-${tenant.orgId}`;
        const hanging = Promise.withResolvers<never>();
        const write: Bucket['write'] = (key, value, revision) => {
          if (key !== keyFeedKeys.model(name)) return bucket.write(key, value, revision);
          return how === 'hangs' ? hanging.promise : failingCall('throws');
        };
        const failing = createKeyFeedSync({ ...options(), nats: { bucket: () => ({ ...bucket, write }) } });
        await inTransaction((tx) => createModel(tx, cause, { ...chat, name }));
        const key = await newKey();
        const flushed = failing.flush();
        await expect.poll(() => readKey(key)).toMatchObject({ refusedFor: null });
        expect(await readModel(name)).toBeNull();
        if (how === 'hangs') hanging.reject(new Error('The write was cancelled.'));
        await flushed;
      },
    );

    it('does not delay other entries, in a flush and in a comparison', async () => {
      const name = `maker/broken-${tenant.orgId}`;
      await inTransaction((tx) => createModel(tx, cause, { ...chat, name }));
      await statement(
        `insert into prices (id, subject_kind, model, model_unit, unit, price_nano_usd, valid_from, created_at)
         values (gen_random_uuid(), 'model', $1, 'prompt_token', 'token', 1, now(), now())`,
        [name],
      );
      onTestFinished(() => statement('update inference_models set enabled = false where name = $1', [name]));
      const key = await newKey();
      await sync.flush();
      expect(await readModel(name)).toBeNull();
      expect(await readKey(key)).toMatchObject({ refusedFor: null });
      run(maintainKeyFeed(options()));
      await eventually({ what: 'a filled key feed' }, isFilled);
    });
  });
});

describe('concurrent writers', () => {
  it('never overwrite a newer row with an older one', async () => {
    const name = `maker/raced-${tenant.orgId}`;
    await inTransaction((tx) => createModel(tx, cause, { ...chat, name }));
    const writers = Array.from({ length: 4 }, () => createKeyFeedSync(options()));
    let lastSeen = 0;
    for (let round = 1; round <= 40; round += 1) {
      await inTransaction((tx) => updateModel(tx, cause, name, { maxOutputTokens: round, reason: 'race' }));
      const flushes = writers.map((writer) => writer.flush());
      if (round % 5 === 0) await Promise.all(flushes);
      const seen = (await readModel(name))?.maxOutputTokens ?? 0;
      expect(seen).toBeGreaterThanOrEqual(lastSeen === 512 ? 0 : lastSeen);
      lastSeen = seen;
    }
    await Promise.all(writers.map((writer) => writer.flush()));
    expect((await readModel(name))?.maxOutputTokens).toBe(40);
  });
});

describe('maintainKeyFeed', () => {
  it('creates the bucket, fills it from the database, and only then sets the fill state', async () => {
    const key = await newKey();
    await dropBucket(keyFeedBucket(prefix));
    run(maintainKeyFeed(options()));
    await eventually({ what: 'a filled key feed' }, isFilled);
    expect(await readKey(key)).toMatchObject({ refusedFor: null });
    expect(await readOrganisation()).not.toBeNull();
  });

  it('fills the bucket again after NATS lost it', async () => {
    const key = await newKey();
    run(maintainKeyFeed(options()));
    await eventually({ what: 'a filled key feed' }, isFilled);
    await dropBucket(keyFeedBucket(prefix));
    await eventually({ what: 'a key feed filled again' }, isFilled);
    expect(await readKey(key)).toMatchObject({ refusedFor: null });
  });

  it.each(['{"version":0,"filledAt":"long ago"}', 'rubbish'])(
    'fills the bucket again if its fill state is %s, as another release may have written it',
    async (text) => {
      const standing = await bucket.read(KEY_FEED_FILL_STATE);
      await bucket.write(KEY_FEED_FILL_STATE, text, standing?.revision ?? 0);
      expect(await isFilled()).toBe(false);
      run(maintainKeyFeed(options()));
      await eventually({ what: 'a key feed filled again' }, isFilled);
    },
  );

  it('repairs differences and removes models of another database', async () => {
    const key = await newKey();
    await sync.flush();
    const standing = (await bucket.read(keyFeedKeys.key(key.publicId))) ?? expect.fail('not there');
    await bucket.write(keyFeedKeys.key(key.publicId), '{"version":1}', standing.revision);
    await bucket.write(keyFeedKeys.model('stranger'), '{}', 0);
    run(maintainKeyFeed(options()));
    await eventually({ what: 'a filled key feed' }, isFilled);
    expect(await readKey(key)).toMatchObject({ refusedFor: null });
    expect((await bucket.read(keyFeedKeys.model('stranger')))?.value).toBeNull();
  });

  it('seals engine keys again after the key of the key feed was changed, and only then', async () => {
    const name = `maker/feed-${tenant.orgId}`;
    await inTransaction(async (tx) => {
      await createModel(tx, cause, { ...chat, name });
      await createDeployment(
        tx,
        cause,
        { sealer, allowPlaintext: true },
        { ...place, model: name, apiKey: 'sk-kept' },
      );
    });
    const revision = async () => (await bucket.read(keyFeedKeys.model(name)))?.revision;
    run(maintainKeyFeed(options()));
    await eventually({ what: 'a filled key feed' }, isFilled);
    await sync.flush();
    const before = await revision();
    const unchanged = createKeyFeedWriter({ ...options(), bucket });
    expect(await unchanged.compare('model', [name])).toEqual({ written: 0, failed: 0 });
    expect(await revision()).toBe(before);
    const next = createKeyFeedSealer([{ id: 'next', key: new Uint8Array(32).fill(9) }]);
    const rotated = createKeyFeedWriter({ ...options(), feedSealer: next, bucket });
    expect(await rotated.compare('model', [name])).toEqual({ written: 1, failed: 0 });
    const entry = modelEntry.parse(JSON.parse((await bucket.read(keyFeedKeys.model(name)))?.value ?? ''));
    expect(entry.deployments.map((each) => openEngineKey(next, each).apiKey)).toEqual(['sk-kept']);
    expect(() => entry.deployments.map((each) => openEngineKey(feedSealer, each))).toThrow(SealedSecretError);
  });

  it('stores no readable engine key in the bucket, and replaces one of an earlier release', async () => {
    const name = `maker/raw-${tenant.orgId}`;
    const secret = 'sk-never-readable';
    await inTransaction(async (tx) => {
      await createModel(tx, cause, { ...chat, name });
      await createDeployment(
        tx,
        cause,
        { sealer, allowPlaintext: true },
        { ...place, model: name, apiKey: secret },
      );
    });
    await sync.flush();
    const sealed = (await bucket.read(keyFeedKeys.model(name))) ?? expect.fail('not there');
    const entry = modelEntry.parse(JSON.parse(sealed.value ?? ''));
    const earlier = entry.deployments.map((each) => ({ ...each, sealedApiKey: undefined, apiKey: secret }));
    const text = JSON.stringify({ ...entry, deployments: earlier });
    expect(await bucket.write(keyFeedKeys.model(name), text, sealed.revision)).not.toBeNull();
    expect((await readModel(name))?.deployments[0]?.apiKey).toBe(secret);
    expect(await readStoredTexts()).toContain(secret);
    run(maintainKeyFeed(options()));
    await eventually({ what: 'a filled key feed' }, isFilled);
    expect((await readModel(name))?.deployments[0]?.apiKey).toBe(secret);
    expect(await readStoredTexts()).not.toContain(secret);
  });

  it('seals engine keys again after the sealing key was changed', async () => {
    const name = `maker/reseal-${tenant.orgId}`;
    await inTransaction(async (tx) => {
      await createModel(tx, cause, { ...chat, name });
      await createDeployment(
        tx,
        cause,
        { sealer, allowPlaintext: true },
        { ...place, model: name, apiKey: 'sk-old' },
      );
    });
    const keys = [
      { id: 'test', key: new Uint8Array(32).fill(7) },
      { id: 'next', key: new Uint8Array(32).fill(8) },
    ];
    run(maintainKeyFeed({ ...options(), sealer: createSealer({ keys, activeId: 'next' }) }));
    await eventually({ what: 'a filled key feed' }, isFilled);
    const onlyNext = createSealer({ keys: keys.slice(1), activeId: 'next' });
    await createKeyFeedSync({ ...options(), sealer: onlyNext }).flush();
    expect((await readModel(name))?.deployments[0]?.apiKey).toBe('sk-old');
  });
});
