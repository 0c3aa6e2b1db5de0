import { createServer } from 'node:net';
import { once } from 'node:events';
import { applyLedger } from '@millrace/core/ledger';
import { openMeters } from '@millrace/core/metering';
import { systemClock } from '@millrace/platform/clock';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import {
  appendTestEvent,
  createOrganisation,
  createTestDatabase,
  engineEnv,
  eventually,
  unregisterDeployment,
  startProcess,
  startTcpProxy,
  startWorkerProcess,
  testEndpoints,
  testIds,
  testNames,
} from '@millrace/testing';
import { afterAll, describe, expect, test } from 'vitest';

const names = testNames();
const env = { MILLRACE_RELAY_LEASE_MS: '1000' };

const database = await createTestDatabase();

afterAll(() => database.drop());

async function rows(text: string): Promise<Record<string, unknown>[]> {
  return (await database.query(text)).rows;
}

async function write(orgId: OrgId, count: number): Promise<void> {
  for (let nth = 0; nth < count; nth += 1) {
    await database.db.transaction({ name: 'write', isolation: 'read committed' }, (tx) =>
      appendTestEvent(tx, orgId, { name: String(nth) }),
    );
  }
}

const published = async () =>
  Number((await rows('select count(*)::int as n from events where published_at is not null'))[0]?.['n']);

describe('worker process', () => {
  test('relays events, reports readiness and releases its shards at stop', async () => {
    await using worker = await startWorkerProcess({ database, names, env });
    const orgId = testIds.next('org');
    const before = await published();
    await write(orgId, 3);
    await eventually({ what: 'three published' }, async () => (await published()) === before + 3);
    const readiness = async (): Promise<object> => {
      const response = await fetch(`${worker.healthUrl}/readyz`);
      return { status: response.status, ...((await response.json()) as object) };
    };
    await expect
      .poll(readiness)
      .toMatchObject({ status: 200, ready: true, state: 'running', checks: { postgres: { ok: true } } });
    expect((await fetch(`${worker.healthUrl}/healthz`)).status).toBe(200);
    expect((await fetch(`${worker.healthUrl}/other`)).status).toBe(404);

    expect(await worker.stop()).toBe(0);
    expect(await rows('select * from relay_leases where expires_at > now()')).toEqual([]);
    expect(await rows('select * from relays')).toEqual([]);
  });

  test('posts meters and expires promotional credit', async () => {
    const orgId = await createOrganisation(database.db);
    const now = systemClock.nowMs();
    const credit = (step: string, promo?: { priority: number; expiresAt: Date }) =>
      ({
        do: 'credit',
        kind: 'grant',
        orgId,
        mode: 'live',
        cause: { kind: 'test', id: 'worker' },
        step,
        amount: nanoUsd(1_000_000n),
        from: [{ account: { kind: 'grants' }, amount: nanoUsd(1_000_000n) }],
        description: 'Credit',
        ...(promo === undefined ? {} : { promo }),
      }) as const;
    await database.db.transaction({ name: 'grant', isolation: 'read committed' }, async (tx) => {
      await applyLedger(tx, [
        credit('paid'),
        credit('gift', { priority: 1, expiresAt: new Date(now - 1_000) }),
      ]);
    });
    await database.db.transaction({ name: 'open', isolation: 'read committed' }, (tx) =>
      openMeters(tx, orgId, [
        {
          mode: 'live',
          cause: { kind: 'rental', id: 'worker' },
          name: 'gpu',
          product: 'rental',
          ratePerHour: nanoUsd(1_000n),
          quantity: 1,
          unit: 'gpu',
          funding: { kind: 'ahead' },
          at: new Date(now - 7_200_000),
        },
      ]),
    );
    // A worker of another test might have swept the shard a moment ago, and would skip it for a minute.
    await rows(`update meter_shards set swept_at = '-infinity'`);
    await using _worker = await startWorkerProcess({ database, names, env });
    await eventually({ what: 'a charge and an expiry' }, async () => {
      const transfers = await rows(`select kind from ledger_transfers where org_id = '${toUuid(orgId)}'`);
      const kinds = transfers.map((transfer) => transfer['kind']);
      return kinds.includes('charge') && kinds.includes('expiry');
    });
  });

  test('is replaced by another within its lease when it is killed', async () => {
    await using killed = await startWorkerProcess({ database, names, env, name: 'doomed' });
    await using successor = await startWorkerProcess({ database, names, env, name: 'heir' });
    await killed.crash();
    const orgId = testIds.next('org');
    const before = await published();
    await write(orgId, 5);
    await eventually(
      { what: 'five published by the other worker' },
      async () => (await published()) === before + 5,
    );
    expect(await successor.stop()).toBe(0);
  });

  test('writes nothing after a freeze beyond its lease that another worker has written', async () => {
    await using frozen = await startWorkerProcess({ database, names, env, name: 'frozen' });
    const orgId = testIds.next('org');
    const before = await published();
    await write(orgId, 20);
    await eventually({ what: 'twenty published' }, async () => (await published()) === before + 20);
    const holder = `%:${frozen.pid}:%`;
    frozen.freeze();
    await using successor = await startWorkerProcess({ database, names, env, name: 'heir' });
    await eventually({ what: 'every shard with the other worker' }, async () => {
      const held = await rows(
        `select holder from relay_leases where expires_at > now() and holder not like '${holder}'`,
      );
      return held.length === 64;
    });
    await write(orgId, 20);
    await eventually({ what: 'twenty more published' }, async () => (await published()) === before + 40);
    const writing = write(orgId, 60);
    frozen.thaw();
    await writing;
    await eventually({ what: 'all published' }, async () => (await published()) === before + 100);
    await eventually({ what: 'the shards shared again' }, async () => {
      const held = await rows(
        `select holder from relay_leases where expires_at > now() and holder like '${holder}'`,
      );
      return held.length === 32;
    });
    const feed = await rows(
      `select seq::int, (data ->> 'name')::int as name from events where org_id = '${toUuid(orgId)}' order by seq`,
    );
    const names20 = [...Array(20).keys()];
    expect(feed.map((event) => event['seq'])).toEqual([...Array(100).keys()].map((index) => index + 1));
    expect(feed.map((event) => event['name'])).toEqual([...names20, ...names20, ...Array(60).keys()]);
    expect(await successor.stop()).toBe(0);
  });

  test('that starts without NATS numbers no event before it has compared the restore mark', async () => {
    const [natsUrl = ''] = testEndpoints().natsUrls;
    await using proxy = await startTcpProxy(natsUrl);
    proxy.cut();
    const settings = { ...env, MILLRACE_NATS_URLS: proxy.rewrite(natsUrl) };
    await using worker = await startWorkerProcess({
      database,
      names: testNames(),
      env: settings,
      name: 'early',
    });
    const orgId = testIds.next('org');
    const before = await published();
    await write(orgId, 3);
    const stored = `select seq from events where org_id = '${toUuid(orgId)}'`;
    // Long enough for many relay steps, which find the gate closed.
    await systemClock.sleep(2_000);
    expect(await rows(stored)).toEqual([]);
    const gated = { ready: true, checks: { 'newest database': { ok: false } } };
    const readiness = async (): Promise<unknown> => (await fetch(`${worker.healthUrl}/readyz`)).json();
    await expect.poll(readiness).toMatchObject(gated);
    proxy.heal();
    await eventually({ what: 'three published' }, async () => (await published()) === before + 3);
    expect(await worker.stop()).toBe(0);
  });

  test('registers again with a Restate that lost its state', async () => {
    const settings = { ...env, MILLRACE_RESTATE_REGISTER_MS: '500' };
    await using worker = await startWorkerProcess({ database, names, env: settings, name: 'forgotten' });
    const { adminUrl } = testEndpoints().restate;
    const deploymentsHere = async (): Promise<string[]> => {
      const response = await fetch(`${adminUrl}/deployments`);
      const { deployments } = (await response.json()) as { deployments: { id: string; uri?: string }[] };
      return deployments.filter(({ uri }) => uri?.includes(`:${worker.endpointPort}`)).map(({ id }) => id);
    };
    const [first] = await eventually({ what: 'the first registration' }, async () => {
      const found = await deploymentsHere();
      return found.length === 1 && found;
    });
    await unregisterDeployment(first ?? expect.fail('no deployment'));
    await eventually({ what: 'another registration' }, async () => (await deploymentsHere()).length === 1);
    expect(await worker.stop()).toBe(0);
  });

  test('reports all wrong settings at once and exits', async () => {
    const broken = await startProcess({
      name: 'broken',
      entry: 'apps/worker/src/main.ts',
      env: { ...engineEnv({ database, names }, 'worker'), MILLRACE_POSTGRES_URL: '', MILLRACE_CELL: '5000' },
    });
    expect((await broken.exited).code).toBe(78);
    expect(broken.output()).toContain('MILLRACE_POSTGRES_URL is not set');
    expect(broken.output()).toContain('MILLRACE_CELL is "5000"');
  });

  test('releases everything when it cannot start because a port is taken', async () => {
    const blocker = createServer();
    blocker.listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const address = blocker.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    const late = await startProcess({
      name: 'late',
      entry: 'apps/worker/src/main.ts',
      env: {
        ...engineEnv({ database, names }, 'worker'),
        MILLRACE_RESTATE_ENDPOINT_PORT: '0',
        MILLRACE_WORKER_HEALTH_PORT: port,
      },
    });
    expect((await late.exited).code).toBe(69);
    expect(late.output()).toContain('EADDRINUSE');
    expect(await rows('select * from relay_leases where expires_at > now()')).toEqual([]);
    blocker.close();
  });
});
