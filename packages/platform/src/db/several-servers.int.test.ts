import { once } from 'node:events';
import { createServer } from 'node:net';
import {
  eventually,
  freePort,
  startPostgresServer,
  startTcpProxy,
  type TestPostgres,
} from '@millrace/testing';
import { sql } from 'kysely';
import { Client } from 'pg';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createLogger } from '../log/index.ts';
import { connectClient } from './connect.ts';
import { createDb, isUnavailable, type Db, type DbOptions } from './index.ts';

/** A primary whose commits wait for its streaming standby. */
const primary = await startPostgresServer({ settings: { synchronous_standby_names: '*' } });
const standby = await startPostgresServer({ standbyOf: primary });
afterAll(async () => {
  await standby[Symbol.asyncDispose]();
  await primary[Symbol.asyncDispose]();
});

const hostsOf = (...servers: readonly (Pick<TestPostgres, 'host'> | string)[]): string =>
  primary.url.replace(
    primary.host,
    servers.map((server) => (typeof server === 'string' ? server : server.host)).join(','),
  );

function open(url: string, options: Partial<DbOptions> = {}): Db {
  const db = createDb({
    url,
    poolSize: 6,
    role: null,
    connectTimeoutMs: 60_000,
    statementTimeoutMs: 60_000,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'test', level: 'silent' }),
    ...options,
  });
  onTestFinished(() => db.close());
  return db;
}

async function portOf(db: Db): Promise<number | undefined> {
  const { rows } = await sql<{ port: number }>`select inet_server_port() as port`.execute(db.kysely);
  return rows[0]?.port;
}

it('a pool connects to the writable server, wherever it is in the URL', async () => {
  const unused = `127.0.0.1:${await freePort()}`;
  for (const url of [
    hostsOf(primary, standby),
    hostsOf(standby, primary),
    hostsOf(unused, standby, primary),
  ]) {
    expect(await portOf(open(url))).toBe(primary.port);
  }
  const client = await connectClient({ url: hostsOf(standby, primary) });
  expect((await client.query('select inet_server_port() as port')).rows).toEqual([{ port: primary.port }]);
  await client.end();
});

it('a pool asks each new connection once whether its server is writable, and a single server never', async () => {
  await using proxy = await startTcpProxy(primary.host, { capture: true });
  const probes = (): number => proxy.captured().split('pg_control_system').length - 1;
  const db = open(hostsOf(`127.0.0.1:${proxy.port}`, standby), { poolSize: 1 });
  for (let round = 0; round < 3; round += 1) await db.ping();
  expect(probes()).toBe(1);
  await open(hostsOf(`127.0.0.1:${proxy.port}`)).ping();
  expect(probes()).toBe(1);
});

it('a pool continues with the next server if one accepts connections and never answers', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const address = silent.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const db = open(hostsOf(`127.0.0.1:${port}`, primary), { connectTimeoutMs: 8_000, poolSize: 1 });
  expect(await portOf(db)).toBe(primary.port);
});

it('an error names each server and its reason if none is writable', async () => {
  const unused = `127.0.0.1:${await freePort()}`;
  const error: unknown = await open(hostsOf(standby, unused))
    .ping()
    .catch((thrown: unknown) => thrown);
  expect(isUnavailable(error)).toBe(true);
  expect(String(error)).toContain(`${standby.host}: it is a standby or read-only`);
  expect(String(error)).toMatch(new RegExp(`${unused}: .*ECONNREFUSED`));
  expect(String(error)).not.toContain('superuser');
});

// Last, because it kills the primary.
it('writers follow a failover, and no acknowledged row is lost', async () => {
  const owner = new Client({ connectionString: primary.url });
  await owner.connect();
  await owner.query('create table written (key int primary key)');
  await owner.end();
  const db = open(hostsOf(primary, standby));
  const acknowledged: number[] = [];
  const unexpected: unknown[] = [];
  let keys = 0;
  let isOver = false;
  const write = async (): Promise<void> => {
    while (!isOver) {
      keys += 1;
      const key = keys;
      await db
        .transaction({ name: 'write', isolation: 'read committed' }, (tx) =>
          sql`insert into written values (${key})`.execute(tx.kysely),
        )
        .then(() => acknowledged.push(key))
        .catch((error: unknown) => (isUnavailable(error) ? undefined : unexpected.push(error)));
    }
  };
  const writers = Array.from({ length: 6 }, write);
  const more = async (what: string): Promise<void> => {
    const before = acknowledged.length;
    await eventually({ what, timeoutMs: 120_000 }, () => acknowledged.length > before + 100);
  };
  await more('rows on the first primary');
  await primary.crash();
  await standby.promote();
  await more('rows on the promoted standby');
  isOver = true;
  await Promise.all(writers);
  expect(unexpected).toEqual([]);
  const { rows } = await sql<{ key: number }>`select key from written`.execute(db.kysely);
  const stored = new Set(rows.map(({ key }) => key));
  expect(acknowledged.filter((key) => !stored.has(key))).toEqual([]);
  expect(await portOf(db)).toBe(standby.port);
});
