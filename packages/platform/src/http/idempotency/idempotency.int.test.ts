import {
  createTestDatabase,
  databaseWithClock,
  eventually,
  killBackends,
  longDbTimeouts,
  startTcpProxy,
  waitForPoolRecovery,
  startStopwatch,
  scaledLimitMs,
} from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, afterEach, expect, test } from 'vitest';
import { systemClock } from '../../clock/index.ts';
import { createDb, type Tx } from '../../db/index.ts';
import { Fault } from '../../fault/index.ts';
import { parseId, toUuid } from '../../ids/index.ts';
import { createLogger } from '../../log/index.ts';
import { duplicateWaitMs } from './idempotency.ts';
import { deleteExpiredOperations, findOperationById, findOperationByKey } from './idempotency.store.ts';
import {
  authorizedHeaders,
  createInterfaceItem,
  createTestServer,
  createItem,
  ids,
  testPrincipal,
} from '../test-server.fixture.ts';
import type { TestServer } from '../test-server.fixture.ts';
import type { Principal } from '../types.ts';

const open: TestServer[] = [];

const database = await createTestDatabase({ poolSize: 6 });
afterEach(() => Promise.all(open.splice(0).map((server) => server.close())));
afterAll(() => database.drop());

/** The effect in these tests is an organisation with this name, because its rows are easy to count. */
async function insertOrg(tx: Tx, name: string): Promise<string> {
  const id = tx.ids.next('org');
  const slug = id.slice(-20).toLowerCase();
  await tx.kysely
    .insertInto('organisations')
    .values({ id: toUuid(id), name, slug, home_cell: 1 })
    .execute();
  return id;
}

async function countOrgs(name: string): Promise<number> {
  const rows = await database.db.kysely
    .selectFrom('organisations')
    .select('id')
    .where('name', '=', name)
    .execute();
  return rows.length;
}

/** Each COMMIT waits for a lock, so that a test can interrupt it. */
const slowCommits = `
  create table if not exists slow_commits (id int);
  grant all on slow_commits to millrace_app;
  create or replace function wait_for_test() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock(1); return null; end';
  drop trigger if exists slow_commits_wait on slow_commits;
  create constraint trigger slow_commits_wait after insert on slow_commits
    deferrable initially deferred for each row execute function wait_for_test();
`;

interface Harness {
  readonly server: TestServer;
  readonly principal: Principal;
  readonly name: string;
  post(options?: {
    readonly key?: string;
    readonly size?: number;
    readonly url?: string;
  }): ReturnType<typeof inject>;
}

function inject(server: TestServer, url: string, headers: Record<string, string>, payload: object) {
  return server.fastify.inject({
    method: 'POST',
    url,
    headers: { ...authorizedHeaders, ...headers },
    payload,
  });
}

/** `during` runs inside the transaction, after the effect and before the response is stored. */
function createHarness(
  during: (tx: Tx) => Promise<void> = async () => {},
  principal = testPrincipal({ limits: { organisationRpm: 10_000, keyRpm: null } }),
): Harness {
  const name = ids.nextUuid();
  const server = createTestServer({ db: database.db, principal });
  open.push(server);
  const options = { name: 'create thing', isolation: 'read committed' } as const;
  const effect = async (tx: Tx, size: number) => {
    const id = await insertOrg(tx, name);
    await during(tx);
    return { body: { id, size, key: 'shown-once' }, resource: { kind: 'thing', id } };
  };
  server.serve(createItem, ({ body, transact }) => transact(options, (tx) => effect(tx, body.size)));
  server.serve(createInterfaceItem, ({ body, transact }) => transact(options, (tx) => effect(tx, body.size)));
  return {
    server,
    principal,
    name,
    post: ({ key, size = 8, url = '/v2/things' } = {}) =>
      inject(server, url, key === undefined ? {} : { 'idempotency-key': key }, { size }),
  };
}

test('transact creates one resource for fifty concurrent requests with one key and returns no other', async () => {
  const { post, name } = createHarness();
  const responses = await Promise.all(Array.from({ length: 50 }, () => post({ key: 'storm' })));
  // On a slow machine some duplicates exceed their two seconds. They are refused and never repeat the effect.
  const served = responses.filter(({ statusCode }) => statusCode === 201);
  const sentAway = responses.filter(({ statusCode }) => statusCode !== 201);
  expect(served.length).toBeGreaterThan(0);
  for (const response of sentAway) expect(response.json().reason).toBe('IDEMPOTENCY_IN_PROGRESS');
  expect(new Set(served.map((response) => response.json().id)).size).toBe(1);
  expect(served.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
  expect(new Set(served.map(({ headers }) => headers['operation-id'])).size).toBe(1);
  expect(await countOrgs(name)).toBe(1);
});

test.each(['repeatable read', 'serializable'] as const)(
  'transact creates one resource for concurrent requests with one key under %s',
  async (isolation) => {
    const name = ids.nextUuid();
    const server = createTestServer({
      db: database.db,
      principal: testPrincipal({ limits: { organisationRpm: 10_000, keyRpm: null } }),
    });
    open.push(server);
    server.serve(createItem, ({ body, transact }) =>
      transact({ name: 'create thing', isolation, maxAttempts: 20 }, async (tx) => {
        const id = await insertOrg(tx, name);
        return { body: { id, size: body.size, key: null } };
      }),
    );
    // A duplicate waits only two seconds for the first request, then its client retries.
    const post = () =>
      eventually({ what: 'an answer to a duplicate', intervalMs: 200 }, async () => {
        const response = await inject(server, '/v2/things', { 'idempotency-key': 'same' }, { size: 8 });
        return response.json().reason === 'IDEMPOTENCY_IN_PROGRESS' ? undefined : response;
      });
    const responses = await Promise.all(Array.from({ length: 20 }, post));
    expect(new Set(responses.map(({ statusCode }) => statusCode))).toEqual(new Set([201]));
    expect(await countOrgs(name)).toBe(1);
  },
);

test('a replay returns the first response without its secret, and the stored row does not contain the secret', async () => {
  const { post, principal } = createHarness();
  const first = await post({ key: 'k' });
  const second = await post({ key: 'k' });
  expect(first.json().key).toBe('shown-once');
  expect(second.headers['idempotent-replayed']).toBe('true');
  expect(second.json()).toEqual({ ...first.json(), key: null });
  const stored = await findOperationByKey(database.db, principal.orgId, 'k');
  expect(JSON.stringify(stored)).not.toContain('shown-once');
  expect(stored).toMatchObject({
    operation: 'createThing',
    status: 201,
    mode: 'live',
    actor: { kind: 'key', id: principal.keyId },
    resource: { kind: 'thing', id: first.json().id },
  });
});

test('findOperationById finds an operation only for its own organisation', async () => {
  const { post, principal } = createHarness();
  const id = parseId('op', String((await post({ key: 'k' })).headers['operation-id']));
  if (id === null) throw new Error('The response names no operation.');
  expect(await findOperationById(database.db, principal.orgId, id)).toMatchObject({
    id,
    idempotencyKey: 'k',
  });
  expect(await findOperationById(database.db, ids.next('org'), id)).toBeNull();
  expect(await findOperationByKey(database.db, ids.next('org'), 'k')).toBeNull();
});

test('transact refuses a different request with the same key, whatever differs', async () => {
  const { post, name, server, principal } = createHarness();
  await post({ key: 'k' });
  const otherBody = await post({ key: 'k', size: 16 });
  expect([otherBody.statusCode, otherBody.json().reason]).toEqual([409, 'IDEMPOTENCY_KEY_REUSED']);
  const otherOperation = await post({ key: 'k', url: '/v2/alpha/interface-things' });
  expect([otherOperation.statusCode, otherOperation.json().reason]).toEqual([400, 'IDEMPOTENCY_KEY_REUSED']);
  const otherQuery = await inject(server, '/v2/things?dry=1', { 'idempotency-key': 'k' }, { size: 8 });
  expect(otherQuery.statusCode).toBe(409);
  const otherMode = createHarness(undefined, { ...principal, mode: 'test' });
  expect((await otherMode.post({ key: 'k' })).statusCode).toBe(409);
  expect(await countOrgs(name)).toBe(1);
});

test('transact ignores the order of body fields when it compares requests', async () => {
  const { server, post } = createHarness();
  await inject(server, '/v2/things', { 'idempotency-key': 'k' }, { size: 8, color: 'red' });
  const again = await inject(server, '/v2/things', { 'idempotency-key': 'k' }, { color: 'red', size: 8 });
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect((await post({ key: 'k' })).statusCode).toBe(409);
});

test('transact separates the keys of two organisations', async () => {
  const [one, other] = [createHarness(), createHarness()];
  const responses = [await one.post({ key: 'k' }), await other.post({ key: 'k' })];
  expect(responses.map(({ headers }) => headers['idempotent-replayed'])).toEqual([undefined, undefined]);
  expect(responses[0]?.json().id).not.toBe(responses[1]?.json().id);
});

test('transact stores nothing for a refused request, so that the same request can succeed later', async () => {
  let refuse = true;
  const { post, name, principal } = createHarness(async () => {
    if (refuse) throw new Fault('API_KEY_LIMIT_REACHED');
  });
  expect((await post({ key: 'k' })).statusCode).toBe(409);
  expect(await findOperationByKey(database.db, principal.orgId, 'k')).toBeNull();
  expect(await countOrgs(name)).toBe(0);
  refuse = false;
  const second = await post({ key: 'k' });
  expect([second.statusCode, second.headers['idempotent-replayed']]).toEqual([201, undefined]);
});

test('transact repeats a request whose connection is lost before the commit, and creates the resource once', async () => {
  let kills = 0;
  const { post, name } = createHarness(async (tx) => {
    kills += 1;
    if (kills > 1) return;
    await killBackends(database);
    await tx.kysely.selectFrom('organisations').select('id').limit(1).execute();
  });
  expect((await post({ key: 'k' })).statusCode).toBe(201);
  expect([kills, await countOrgs(name)]).toEqual([2, 1]);
  await waitForPoolRecovery(database.db);
});

test('transact leaves nothing if every connection is lost, and a later request creates the resource once', async () => {
  let isKilling = true;
  const { post, name, principal } = createHarness(async (tx) => {
    if (!isKilling) return;
    await killBackends(database);
    await tx.kysely.selectFrom('organisations').select('id').limit(1).execute();
  });
  const first = await post({ key: 'k' });
  expect([first.statusCode, first.json().reason, first.headers['retry-after']]).toEqual([
    503,
    'SERVICE_UNAVAILABLE',
    '1',
  ]);
  isKilling = false;
  await waitForPoolRecovery(database.db);
  expect(await countOrgs(name)).toBe(0);
  expect(await findOperationByKey(database.db, principal.orgId, 'k')).toBeNull();
  const second = await post({ key: 'k' });
  expect([second.statusCode, await countOrgs(name)]).toEqual([201, 1]);
});

test.each(['rolled back', 'committed'] as const)(
  'the idempotency key settles a commit of unknown result that was %s',
  async (outcome) => {
    await using proxy = await startTcpProxy(database.url);
    const log = createLogger({ name: 'test', level: 'silent' });
    const dbThroughProxy = createDb({
      ...longDbTimeouts,
      url: proxy.rewrite(database.url),
      poolSize: 1,
      ids,
      log,
    });
    const principal = testPrincipal({ limits: { organisationRpm: 10_000, keyRpm: null } });
    const server = createTestServer({ db: dbThroughProxy, principal });
    open.push(server);
    const name = ids.nextUuid();
    server.serve(createItem, ({ body, transact }) =>
      transact({ name: 'create thing', isolation: 'read committed' }, async (tx) => {
        const id = await insertOrg(tx, name);
        await sql`insert into slow_commits values (1)`.execute(tx.kysely);
        return { body: { id, size: body.size, key: null } };
      }),
    );
    const post = () => inject(server, '/v2/things', { 'idempotency-key': 'k' }, { size: 8 });
    const holder = await database.connect();
    await holder.query(slowCommits);
    await holder.query('select pg_advisory_lock(1)');
    const first = post();
    await eventually({ what: 'the commit under way' }, async () => {
      const { rowCount } = await holder.query(
        "select from pg_stat_activity where datname = current_database() and query = 'commit' and wait_event = 'advisory'",
      );
      return rowCount === 1;
    });
    if (outcome === 'committed') proxy.dropConnections();
    else await killBackends(database, 'commit');
    const { statusCode, headers } = await first;
    expect([statusCode, headers['retry-after']]).toEqual([503, '1']);
    await holder.query('select pg_advisory_unlock(1)');
    const second = await eventually({ what: 'an answer to the repetition' }, async () => {
      const response = await post();
      return response.json().reason === 'IDEMPOTENCY_IN_PROGRESS' ? undefined : response;
    });
    const replayed = outcome === 'committed' ? 'true' : undefined;
    expect([second.statusCode, second.headers['idempotent-replayed']]).toEqual([201, replayed]);
    expect(await countOrgs(name)).toBe(1);
    await holder.end();
    await dbThroughProxy.close();
  },
);

test('a duplicate waits a limited time and holds no connection while it waits', async () => {
  const finish = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const { post, name } = createHarness(async () => {
    started.resolve();
    await finish.promise;
  });
  const first = post({ key: 'slow' });
  await started.promise;
  const stopwatch = startStopwatch();
  // More duplicates than the pool has connections: if waiting used a connection, the query below could not run.
  const duplicates = Array.from({ length: 12 }, (_, index) =>
    post({ key: 'slow', url: index < 6 ? '/v2/things' : '/v2/alpha/interface-things' }),
  );
  await systemClock.sleep(200);
  await database.db.ping();
  expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(duplicateWaitMs));
  const responses = await Promise.all(duplicates);
  expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(duplicateWaitMs + 1_500));
  expect(responses.map(({ statusCode }) => statusCode)).toEqual([
    ...Array(6).fill(409),
    ...Array(6).fill(503),
  ]);
  for (const response of responses) {
    expect(response.json().reason).toBe('IDEMPOTENCY_IN_PROGRESS');
    expect(response.headers['retry-after']).toBe('1');
  }
  finish.resolve();
  expect((await first).statusCode).toBe(201);
  expect(await countOrgs(name)).toBe(1);
});

test('transact without a key repeats the effect for each request, each in one transaction', async () => {
  let refuse = false;
  const { post, name } = createHarness(async () => {
    if (refuse) throw new Fault('API_KEY_LIMIT_REACHED');
  });
  const responses = [await post(), await post()];
  expect(responses.map(({ headers }) => headers['operation-id'])).toEqual([undefined, undefined]);
  refuse = true;
  expect((await post()).statusCode).toBe(409);
  expect(await countOrgs(name)).toBe(2);
});

test('transact accepts an expired key as new, and deleteExpiredOperations removes expired rows', async () => {
  const { post, principal, name } = createHarness();
  await post({ key: 'old' });
  await database.db.kysely
    .updateTable('idempotency_keys')
    .set({ created_at: new Date('2020-01-01'), expires_at: new Date('2020-02-01') })
    .where('org_id', '=', toUuid(principal.orgId))
    .execute();
  const again = await post({ key: 'old', size: 16 });
  expect([again.statusCode, again.headers['idempotent-replayed']]).toEqual([201, undefined]);
  expect(await countOrgs(name)).toBe(2);
  const later = databaseWithClock(database.db, new Date(Date.now() + 31 * 86_400_000));
  const sweep = () =>
    later.transaction({ name: 'sweep', isolation: 'read committed' }, (tx) =>
      deleteExpiredOperations(tx, 1_000),
    );
  expect(await sweep()).toBeGreaterThanOrEqual(1);
  expect(await sweep()).toBe(0);
  expect(await findOperationByKey(database.db, principal.orgId, 'old')).toBeNull();
});
