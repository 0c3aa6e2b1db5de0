import { seedOrganisation, type SeededOrganisation } from '@millrace/core/fixture';
import { createKeyFeedSealer, keyFeedBucket, maintainKeyFeed } from '@millrace/core/inference';
import { parseKey } from '@millrace/core/identity';
import { openKeyFeed, type KeyFeed } from '@millrace/inference';
import { SimulatedClock, systemClock, type Clock } from '@millrace/platform/clock';
import { connectNats } from '@millrace/platform/nats';
import { createSealer } from '@millrace/platform/secrets';
import {
  type ApiProcess,
  createTestDatabase,
  dropBucket,
  eventually,
  natsAccess,
  scaledLimitMs,
  startApiProcess,
  startStopwatch,
  startTcpProxy,
  type TestDatabase,
  testEndpoints,
  testLog,
  testNames,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { auditAndDrop } from '../stack/ledger-audit.ts';

/** The key feed of a gateway beside a real api process, after the worker that filled the feed has stopped. */

const names = testNames();
const log = testLog();
const [server = 'none'] = testEndpoints().natsUrls;
const feedSealer = createKeyFeedSealer([{ id: 'feed', key: Buffer.alloc(32, 8) }]);
const sealer = createSealer({ keys: [{ id: 'test', key: Buffer.alloc(32, 7) }], activeId: 'test' });

let database: TestDatabase;
let api: ApiProcess;
let acme: SeededOrganisation;

beforeAll(async () => {
  database = await createTestDatabase();
  acme = await seedOrganisation(database.db);
  const operator = await seedOrganisation(database.db, { platformRole: 'operator' });
  const nats = await connectNats({ ...natsAccess(), servers: [server], name: 'worker', log });
  const worker = maintainKeyFeed({
    ...{ db: database.db, nats, prefix: names.natsPrefix, sealer, clock: systemClock, log, feedSealer },
    ...{ rates: { organisationRpm: 60, fundedRpm: 600 }, replicas: 1, maxBytes: 8_388_608 },
  });
  const filled = await open(systemClock);
  // The catalog is written first. Only a complete feed can report that a key is absent.
  await eventually({ what: 'a filled key feed', timeoutMs: 60_000 }, async () => {
    return (await filled.keyFeed.findKey('000000000000')) === null;
  });
  await worker.stop();
  await nats.close();
  await filled.close();
  api = await startApiProcess({ database, names });
  await call(operator.owner.key, 'POST', '/v2/admin/models', {
    ...{ name: 'maker/chat', aliases: ['chat'], modality: 'chat', ownedBy: 'maker' },
  });
});
afterAll(() => dropBucket(keyFeedBucket(names.natsPrefix)));

async function open(clock: Clock, through: string = server) {
  const nats = await connectNats({ ...natsAccess(), servers: [through], name: 'gateway', log, clock });
  const keyFeed = await openKeyFeed({
    nats,
    clock,
    log,
    prefix: names.natsPrefix,
    sealer: feedSealer,
    allowPlaintext: false,
  });
  const close = async (): Promise<void> => {
    await keyFeed.close();
    await nats.close();
  };
  return { keyFeed: keyFeed, close };
}

async function openForTest(clock: Clock = systemClock, through: string = server): Promise<KeyFeed> {
  const { keyFeed, close } = await open(clock, through);
  onTestFinished(close);
  return keyFeed;
}

async function call(key: string, method: string, path: string, body?: unknown) {
  const response = await fetch(`${api.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  expect(response.ok, text).toBe(true);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}

async function newKey(): Promise<{ readonly id: string; readonly publicId: string }> {
  const made = await call(acme.owner.key, 'POST', '/v2/api-keys', {
    name: 'gateway',
    scopes: ['inference:write'],
  });
  return { id: String(made['id']), publicId: parseKey(String(made['key']))?.publicId ?? 'none' };
}

describe('key feed without a worker', () => {
  it('has a new key as soon as the api has responded with it', async () => {
    const keyFeed = await openForTest();
    const { publicId } = await newKey();
    expect(await keyFeed.findKey(publicId)).toMatchObject({ orgId: acme.organisation.id, refusedFor: null });
    expect(await keyFeed.organisation(acme.organisation.id)).toMatchObject({ isSuspended: false });
  });

  it('reports an absent key, the second time without a lookup', async () => {
    const keyFeed = await openForTest();
    expect(await keyFeed.findKey('000000000000')).toBeNull();
    expect(keyFeed.findKey('000000000000')).toBeNull();
  });

  it('has a revocation within a second of the response', async () => {
    const keyFeed = await openForTest();
    const { id, publicId } = await newKey();
    await keyFeed.findKey(publicId);
    await call(acme.owner.key, 'DELETE', `/v2/api-keys/${id}`);
    const stopwatch = startStopwatch();
    await eventually({ what: 'the refusal', intervalMs: 5 }, async () => {
      return (await keyFeed.findKey(publicId))?.refusedFor === 'API_KEY_REVOKED';
    });
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(1_000));
  });

  it('has a revocation within a second even if the api died after its commit', async () => {
    const keyFeed = await openForTest();
    const { publicId } = await newKey();
    await keyFeed.findKey(publicId);
    await database.query(
      `update api_keys set revoked_at = now(), revoked_reason = 'revoked', next_action_at = null where public_id = $1`,
      [publicId],
    );
    const stopwatch = startStopwatch();
    await eventually({ what: 'the refusal', intervalMs: 5 }, async () => {
      return (await keyFeed.findKey(publicId))?.refusedFor === 'API_KEY_REVOKED';
    });
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(1_000));
  });
});

describe('key feed without a connection to NATS', () => {
  it.each(['cut', 'pause'] as const)(
    'becomes stale five seconds after a %s and recovers without a restart',
    async (how) => {
      const proxy = await startTcpProxy(server);
      onTestFinished(() => proxy.close());
      const clock = new SimulatedClock();
      const keyFeed = await openForTest(clock, proxy.rewrite(server));
      const { publicId } = await newKey();
      await keyFeed.findKey(publicId);
      const fresh = async (): Promise<boolean> => {
        await clock.advance(500);
        return !keyFeed.isStale();
      };
      await eventually({ what: 'a fresh key feed' }, fresh);

      proxy[how]();
      await clock.advance(3_500);
      expect(keyFeed.isStale()).toBe(false);
      for (let second = 0; second < 3; second += 1) await clock.advance(1_000);
      expect(keyFeed.isStale()).toBe(true);
      // Known entries stay available, so that running streams can finish.
      expect(keyFeed.findKey(publicId)).toMatchObject({ refusedFor: null });

      proxy.heal();
      await eventually({ what: 'a fresh key feed again' }, fresh);
    },
  );
});

describe('key feed without PostgreSQL', () => {
  it('provides keys, organisations and models to a starting gateway', async () => {
    const { publicId } = await newKey();
    await api.stop();
    await auditAndDrop(database);
    const keyFeed = await openForTest();
    expect(keyFeed.isStale()).toBe(false);
    expect(await keyFeed.findKey(publicId)).toMatchObject({ refusedFor: null });
    expect(await keyFeed.organisation(acme.organisation.id)).toMatchObject({ isSuspended: false });
    expect(keyFeed.models(acme.organisation.id, 'live').map(({ name }) => name)).toEqual(['maker/chat']);
    expect(keyFeed.model('chat', acme.organisation.id, 'test')?.deployments[0]?.engine).toBe('mock');
  });
});
