import { crc32 } from 'node:zlib';
import { systemClock } from '@millrace/platform/clock';
import { createDb, type Db } from '@millrace/platform/db';
import { createIdSource, toUuid, type KeyId } from '@millrace/platform/ids';
import {
  createRestateEndpoint,
  createRestateIngress,
  registerDeployment,
  type RestateEndpoint,
} from '@millrace/platform/restate';
import {
  createTenant,
  createTestDatabase,
  databaseWithClock,
  eventually,
  unregisterDeployment,
  testClock,
  testEndpoints,
  testLog,
  testNames,
  uniqueId,
  failingLoop,
  poisonRows,
  type Poison,
} from '@millrace/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createApiKeyLifecycle } from './keys/api-key.workflow.ts';
import { issueKey, type IssuedKey } from './keys/api-keys.service.ts';
import { createKeyExpiry, sweepDueKeys } from './keys/key-expiry.service.ts';
import { unlimitedKeyLimits } from './model/api-keys.store.ts';
import { systemAuditContext } from './model/identity.ts';
import { createKeyAuthenticator } from './keys/key-authenticator.ts';
import type { KeyChange } from './keys/key-changes.ts';
import { KeyUsage } from './keys/key-usage.ts';

const readCommitted = 'read committed' as const;
const cause = systemAuditContext('test', 'live');

const database = await createTestDatabase();
const tenant = await createTenant(database.db);
afterAll(() => database.drop());

function issue(db: Db, expiresAt: Date | null, rotatedFrom?: KeyId): Promise<IssuedKey> {
  const rights = {
    mode: 'live' as const,
    scopes: ['rentals:read' as const],
    limits: unlimitedKeyLimits,
    allowedIps: [],
    expiresAt,
  };
  const { orgId, ownerId: userId } = tenant;
  const fields = {
    orgId,
    userId,
    name: 'made in a test',
    rights,
    ...(rotatedFrom === undefined ? {} : { rotatedFrom }),
  };
  return db.transaction({ name: 'issue', isolation: readCommitted }, (tx) => issueKey(tx, cause, fields));
}

async function rows(text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  return (await database.query(text, values)).rows;
}

const revocations = (keyId: string) =>
  rows(`select payload->>'cause' as cause from outbox where type = 'key.revoked' and resource_id = $1`, [
    keyId,
  ]);

describe('an expiring key', () => {
  const clock = testClock();
  let db: Db;
  const announced: KeyChange[] = [];
  const keys = createKeyExpiry({ announce: (change) => void announced.push(change) });
  const close = (keyId: KeyId) =>
    db.transaction({ name: 'close', isolation: readCommitted }, (tx) => keys.close(tx, tenant.orgId, keyId));

  beforeEach(() => {
    db = createDb({
      url: database.url,
      poolSize: 4,
      clock,
      ids: createIdSource({ clock, cell: 1 }),
      log: testLog(),
    });
  });
  afterEach(() => db.close());

  describe(failingLoop('close due api keys'), () => {
    it.each<Poison>(['throws', 'times out'])(
      'whose write %s does not delay other keys, and is retried after them',
      async (how) => {
        const [bad, good] = [
          await issue(db, new Date(clock.nowMs() + 1)),
          await issue(db, new Date(clock.nowMs() + 2)),
        ];
        const removeFault = await poisonRows(database, {
          table: 'api_keys',
          when: `new.id = '${toUuid(bad.key.id)}'`,
          how,
        });
        await clock.advance(60_000);
        const sweep = (limit: number) => sweepDueKeys(db, { keys, limit, log: testLog() });
        await sweep(1);
        await sweep(1);
        expect([await revocations(bad.key.id), (await revocations(good.key.id)).length]).toEqual([[], 1]);
        await removeFault();
        await clock.advance(60_000);
        await sweep(10);
        expect(await revocations(bad.key.id)).toHaveLength(1);
      },
    );
  });

  it('is rejected from its expiry on, and its expiry is recorded once by concurrent attempts', async () => {
    const { key, text } = await issue(db, new Date(clock.nowMs() + 60_000));
    const { authenticate } = createKeyAuthenticator({ db, clock, organisationRpm: 60 });
    const use = () => authenticate({ key: text, clientIp: '127.0.0.1' });
    expect(await close(key.id)).toEqual({ state: 'early', dueInMs: 60_000 });
    await clock.advance(59_999);
    await expect(use()).resolves.toMatchObject({ keyId: key.id });
    await clock.advance(1);
    await expect(use()).rejects.toMatchObject({ reason: 'API_KEY_EXPIRED' });

    const sweep = () => sweepDueKeys(db, { keys, limit: 10, log: testLog() });
    const outcomes = await Promise.all([close(key.id), close(key.id), sweep(), sweep()]);
    const times = outcomes.map((outcome) =>
      typeof outcome === 'number' ? outcome : Number(outcome.state === 'closed'),
    );
    expect(times.reduce((sum, count) => sum + count, 0)).toBe(1);
    expect(await close(key.id)).toEqual({ state: 'nothing to do' });
    expect(await revocations(key.id)).toEqual([{ cause: 'expired' }]);
    expect(
      announced.filter((change) => change.kind === 'keys' && change.publicIds.includes(key.publicId)),
    ).toHaveLength(1);
    const [row] = await rows(
      'select revoked_at = expires_at as on_time, revoked_reason, next_action_at from api_keys where public_id = $1',
      [key.publicId],
    );
    expect(row).toEqual({ on_time: true, revoked_reason: 'expired', next_action_at: null });
    await expect(use()).rejects.toMatchObject({ reason: 'API_KEY_EXPIRED' });
  });

  it('is recorded as rotated if another key has replaced it', async () => {
    const { key } = await issue(db, new Date(clock.nowMs() + 1_000));
    await issue(db, null, key.id);
    await clock.advance(1_000);
    expect(await sweepDueKeys(db, { keys, limit: 10, log: testLog() })).toBe(1);
    expect(await revocations(key.id)).toEqual([{ cause: 'rotated' }]);
  });

  it('is closed by a command if the expiry is near, and by the sweep alone if it is years away', async () => {
    const commands = (keyId: KeyId) => rows('select 1 from outbox where object_key = $1', [keyId]);
    const soon = await issue(db, new Date(clock.nowMs() + 7 * 24 * 3_600_000));
    const late = await issue(db, new Date('9999-12-31T23:59:59Z'));
    expect(await commands(soon.key.id)).toHaveLength(1);
    expect(await commands(late.key.id)).toHaveLength(0);
    const [row] = await rows('select next_action_at from api_keys where public_id = $1', [late.key.publicId]);
    expect(row).toEqual({ next_action_at: late.key.expiresAt });
  });

  it('is never closed early, and a key without expiry or an unknown key is left unchanged', async () => {
    const { key } = await issue(db, null);
    expect(await close(key.id)).toEqual({ state: 'nothing to do' });
    expect(await sweepDueKeys(db, { keys, limit: 10, log: testLog() })).toBe(0);
    expect(await revocations(key.id)).toEqual([]);
  });
});

describe('createApiKeyLifecycle', () => {
  const service = testNames().restateService('ApiKeyLifecycle');
  let endpoint: RestateEndpoint;
  let deploymentId: string;

  beforeAll(async () => {
    const { restate } = testEndpoints();
    const keys = createKeyExpiry({ announce: () => undefined });
    endpoint = await createRestateEndpoint({
      services: [createApiKeyLifecycle({ db: database.db, keys, service })],
      identityKeys: [restate.identityPublicKey],
      port: 0,
      log: testLog('endpoint'),
    });
    deploymentId = (await registerDeployment(restate.adminUrl, endpoint.url)).deploymentId;
  });
  afterAll(async () => {
    await unregisterDeployment(deploymentId);
    await endpoint.close();
  });

  it('records the expiry once, although it is called early and three times', async () => {
    const ingress = createRestateIngress({ url: testEndpoints().restate.ingressUrl });
    const { key } = await issue(database.db, new Date(systemClock.nowMs() + 700));
    for (let nth = 0; nth < 3; nth++) {
      await ingress.send({
        service,
        handler: 'expire',
        key: key.id,
        payload: { orgId: tenant.orgId, keyId: key.id },
        idempotencyKey: uniqueId(),
        envelope: { cell: 1, mode: 'live', actor: cause.actor, schemaVersion: 1, traceparent: null },
      });
    }
    await eventually(
      { what: 'the key is noted as revoked' },
      async () => (await revocations(key.id)).length > 0,
    );
    expect(await revocations(key.id)).toEqual([{ cause: 'expired' }]);
  });
});

describe('the key authenticator', () => {
  it('uses a cached key for less than 750 ms without a notification of the revocation', async () => {
    const clock = testClock();
    const { authenticate } = createKeyAuthenticator({ db: database.db, clock, organisationRpm: 60 });
    const { key, text } = await issue(database.db, null);
    const use = () => authenticate({ key: text, clientIp: '127.0.0.1' });
    await use();
    await rows(`update api_keys set revoked_at = now(), revoked_reason = 'revoked' where public_id = $1`, [
      key.publicId,
    ]);
    await clock.advance(749);
    await expect(use()).resolves.toMatchObject({ keyId: key.id });
    await clock.advance(1);
    await expect(use()).rejects.toMatchObject({ reason: 'API_KEY_REVOKED' });
  });

  it('invalidates a key at once when notified, by key or by organisation', async () => {
    const clock = testClock();
    const { authenticate, invalidate } = createKeyAuthenticator({
      db: database.db,
      clock,
      organisationRpm: 60,
    });
    const { key, text } = await issue(database.db, null);
    const use = () => authenticate({ key: text, clientIp: '127.0.0.1' });
    await use();
    await rows(`update api_keys set revoked_at = now(), revoked_reason = 'revoked' where public_id = $1`, [
      key.publicId,
    ]);
    invalidate({ kind: 'organisation', orgId: tenant.orgId });
    await expect(use()).rejects.toMatchObject({ reason: 'API_KEY_REVOKED' });
  });

  it('rejects a right public id with a wrong secret exactly like an unknown key', async () => {
    const { authenticate } = createKeyAuthenticator({
      db: database.db,
      clock: testClock(),
      organisationRpm: 60,
    });
    const [one, other] = [await issue(database.db, null), await issue(database.db, null)];
    const swapped = withSecretOf(one.text, other.text);
    await expect(authenticate({ key: swapped, clientIp: '127.0.0.1' })).rejects.toMatchObject({
      reason: 'INVALID_API_KEY',
    });
  });

  it('responds with 503, not with an unknown key, while the database is unreachable', async () => {
    const db = createDb({
      url: 'postgres://nobody@127.0.0.1:1/nothing',
      poolSize: 1,
      ids: createIdSource({ clock: systemClock, cell: 1 }),
      log: testLog(),
      connectTimeoutMs: 500,
    });
    const { authenticate } = createKeyAuthenticator({ db, clock: systemClock, organisationRpm: 60 });
    const { text } = await issue(database.db, null);
    await expect(authenticate({ key: text, clientIp: '127.0.0.1' })).rejects.toMatchObject({
      reason: 'SERVICE_UNAVAILABLE',
    });
    await db.close();
  });
});

describe('the time of last use', () => {
  it('is written outside the request path, at most once a minute per key', async () => {
    const clock = testClock();
    const usage = new KeyUsage({ db: databaseWithClock(database.db, clock), clock, log: testLog() });
    const { key } = await issue(database.db, null);
    const read = async () => {
      const [row] = await rows('select last_used_at from api_keys where public_id = $1', [key.publicId]);
      return row?.['last_used_at'];
    };
    const first = clock.now();
    usage.note(key.id);
    expect(await read()).toBeNull();
    await usage.flush();
    expect(await read()).toEqual(first);
    await clock.advance(59_999);
    usage.note(key.id);
    await usage.flush();
    expect(await read()).toEqual(first);
    await clock.advance(1);
    usage.note(key.id);
    await usage.flush();
    expect(await read()).toEqual(clock.now());
  });

  it('is also written at shutdown, for a key that was used during the last flush', async () => {
    const [clock, stopping] = [testClock(), new AbortController()];
    const [started, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const db = databaseWithClock(database.db, clock);
    const slow: Db = {
      ...database.db,
      clock: db.clock,
      transaction: async (options, work) => {
        started.resolve();
        await goOn.promise;
        return db.transaction(options, work);
      },
    };
    const usage = new KeyUsage({ db: slow, clock, log: testLog() });
    const keys = [await issue(database.db, null), await issue(database.db, null)].map(({ key }) => key);
    const ran = usage.run(stopping.signal);
    usage.note(keys[0]?.id ?? expect.fail('no key'));
    await clock.advance(5_000);
    await started.promise;
    const usedAt = clock.now();
    usage.note(keys[1]?.id ?? expect.fail('no key'));
    stopping.abort();
    goOn.resolve();
    await ran;
    expect(await rows('select last_used_at from api_keys where public_id = $1', [keys[1]?.publicId])).toEqual(
      [{ last_used_at: usedAt }],
    );
  });

  it('is postponed for a locked row instead of waiting', async () => {
    const usage = new KeyUsage({ db: database.db, clock: testClock(), log: testLog() });
    const { key } = await issue(database.db, null);
    const holder = await database.connect();
    await holder.query('begin');
    await holder.query('select 1 from api_keys where public_id = $1 for update', [key.publicId]);
    usage.note(key.id);
    await usage.flush();
    await holder.query('rollback');
    await holder.end();
    expect(await rows('select last_used_at from api_keys where public_id = $1', [key.publicId])).toEqual([
      { last_used_at: null },
    ]);
  });
});

/** The public part of the first key with the secret of the second and a valid checksum, as an attacker could send it. */
function withSecretOf(first: string, second: string): string {
  const body = first.slice(0, first.lastIndexOf('_') + 1) + second.slice(second.lastIndexOf('_') + 1, -6);
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let [rest, sum] = [BigInt(crc32(body)), ''];
  for (let place = 0; place < 6; place++) {
    sum = (digits[Number(rest % 62n)] ?? '') + sum;
    rest /= 62n;
  }
  return body + sum;
}
