import { createTestDatabase, eventually, startPostgresServer, startTcpProxy } from '@millrace/testing';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createLogger } from '../log/index.ts';
import {
  UnknownCommitError,
  allowLongStatements,
  createDb,
  isUnavailable,
  type Db,
  type DbOptions,
  type Tx,
} from './index.ts';

const database = await createTestDatabase();
await database.query('create table effects (key text primary key, times int not null)');
await database.query('grant all on effects to millrace_app');
afterAll(() => database.drop());

function open(url: string, options: Partial<DbOptions> = {}): Db {
  const db = createDb({
    url,
    poolSize: 1,
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 600_000,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'test', level: 'silent' }),
    ...options,
  });
  onTestFinished(() => db.close());
  return db;
}

const options = { name: 'effect', isolation: 'read committed' } as const;

/** A request with an idempotency key: the row of a key that was committed before is left unchanged. */
async function haveEffect(tx: Tx, key: string): Promise<void> {
  await sql`insert into effects values (${key}, 0) on conflict do nothing`.execute(tx.kysely);
  await sql`update effects set times = times + 1 where key = ${key} and times = 0`.execute(tx.kysely);
}

async function timesOf(key: string): Promise<number> {
  const { rows } = await database.query<{ times: number }>('select times from effects where key = $1', [key]);
  return rows[0]?.times ?? 0;
}

it('a connection that is cut at any point of a transaction is repeated before COMMIT and has an unknown result after it, with one effect', async () => {
  let chunksUntilCut = Infinity;
  const admit = (): boolean => {
    chunksUntilCut -= 1;
    return chunksUntilCut !== 0;
  };
  await using proxy = await startTcpProxy(database.url, { admit });
  const db = open(proxy.rewrite(database.url));
  const outcomes: string[] = [];
  for (let point = 1; ; point += 1) {
    const key = `cut at ${point}`;
    let attempts = 0;
    const request = (): Promise<void> =>
      db.transaction(options, async (tx) => {
        attempts += 1;
        await haveEffect(tx, key);
      });
    await db.ping();
    chunksUntilCut = point;
    const error: unknown = await request().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    const wasCut = chunksUntilCut <= 0;
    chunksUntilCut = Infinity;
    if (!wasCut) break;
    if (error === null) outcomes.push(attempts === 1 ? 'repeated BEGIN' : 'repeated');
    else {
      // The client gets 503, and repeats the request.
      expect(error).toBeInstanceOf(UnknownCommitError);
      expect([isUnavailable(error), attempts]).toEqual([true, 1]);
      outcomes.push((await timesOf(key)) === 1 ? 'unknown, committed' : 'unknown, rolled back');
      await request();
    }
    expect(await timesOf(key)).toBe(1);
  }
  expect([...new Set(outcomes)]).toEqual([
    'repeated BEGIN',
    'repeated',
    'unknown, rolled back',
    'unknown, committed',
  ]);
});

it('a transaction that meets a read-only server is repeated on another connection', async () => {
  const db = open(database.url);
  const pids: unknown[] = [];
  await db.transaction(options, async (tx) => {
    pids.push((await sql`select pg_backend_pid() as pid`.execute(tx.kysely)).rows[0]);
    if (pids.length === 1) await sql`set transaction read only`.execute(tx.kysely);
    await haveEffect(tx, 'read-only');
  });
  expect(new Set(pids.map((pid) => JSON.stringify(pid))).size).toBe(2);
  expect(await timesOf('read-only')).toBe(1);
});

it('a transaction is not retried forever while the database is unreachable', async () => {
  const proxy = await startTcpProxy(database.url);
  const db = open(proxy.rewrite(database.url));
  await db.ping();
  await proxy.close();
  const failing = db.transaction({ ...options, maxAttempts: 3 }, (tx) => haveEffect(tx, 'unreachable'));
  await expect(failing).rejects.toSatisfy(isUnavailable);
});

it('a server that is lost without closing its connections frees each connection, and COMMIT has an unknown result', async () => {
  await using proxy = await startTcpProxy(database.url);
  const db = open(proxy.rewrite(database.url), { statementTimeoutMs: 1_000, graceMs: 1_000 });
  const failing = db
    .transaction({ ...options, maxAttempts: 1 }, async (tx) => {
      await haveEffect(tx, 'lost at COMMIT');
      proxy.pause();
    })
    .catch((error: unknown) => error);
  expect(await failing).toBeInstanceOf(UnknownCommitError);
  proxy.heal();
  await db.ping();
  const slow = db.transaction({ ...options, maxAttempts: 1 }, async (tx) => {
    proxy.pause();
    await haveEffect(tx, 'lost before');
  });
  await expect(slow).rejects.toSatisfy(isUnavailable);
  proxy.heal();
  await db.ping();
  expect(await timesOf('lost before')).toBe(0);
});

it('COMMIT keeps its connection while it waits for a standby and its server can be reached', async () => {
  await using server = await startPostgresServer({
    settings: { synchronous_standby_names: '*', fsync: 'off' },
  });
  await using proxy = await startTcpProxy(server.url, { capture: true });
  const owner = new Client({ connectionString: server.url });
  await owner.connect();
  await owner.query('set synchronous_commit = local');
  await owner.query('create table effects (key text primary key, times int not null)');
  const short = { role: null, statementTimeoutMs: 500, graceMs: 500, poolSize: 5 };
  const committing = open(proxy.rewrite(server.url), short)
    .transaction(options, (tx) => haveEffect(tx, 'waits'))
    .catch((error: unknown) => error);
  const logins = (): number => proxy.captured().split('application_name').length - 1;
  await eventually({ what: 'two logins that test the server', timeoutMs: 120_000 }, () => logins() >= 3);
  const waiting = "select pid from pg_stat_activity where wait_event = 'SyncRep'";
  const { rows } = await owner.query(waiting);
  expect(rows).toHaveLength(1);
  await owner.query('select pg_cancel_backend($1)', [rows[0].pid]);
  expect(String(await committing)).toContain('did not wait for its standby');
  await owner.end();
});

it('allowLongStatements lets the statements of one transaction take longer than the others', async () => {
  const db = open(database.url, { statementTimeoutMs: 100 });
  const sleep = (tx: Tx) => sql`select pg_sleep(0.5)`.execute(tx.kysely);
  await db.transaction(options, async (tx) => {
    await allowLongStatements(tx, 600_000);
    await sleep(tx);
  });
  await expect(db.transaction(options, sleep)).rejects.toMatchObject({ code: '57014' });
});

it('COMMIT has an unknown result if its wait for a synchronous standby is cancelled, although the row exists', async () => {
  await using server = await startPostgresServer({
    settings: { synchronous_standby_names: '*', fsync: 'off' },
  });
  const owner = new Client({ connectionString: server.url });
  await owner.connect();
  await owner.query('set synchronous_commit = local');
  await owner.query('create table effects (key text primary key, times int not null)');
  const failing = open(server.url, { role: null })
    .transaction(options, (tx) => haveEffect(tx, 'alone'))
    .catch((error: unknown) => error);
  await eventually({ what: 'the wait for a standby was cancelled' }, async () => {
    const { rowCount } = await owner.query(
      "select pg_cancel_backend(pid) from pg_stat_activity where wait_event = 'SyncRep'",
    );
    return rowCount === 1;
  });
  const error = await failing;
  expect(error).toBeInstanceOf(UnknownCommitError);
  expect(String(error)).toContain('did not wait for its standby');
  expect((await owner.query('select times from effects')).rows).toEqual([{ times: 1 }]);
  await owner.end();
});
