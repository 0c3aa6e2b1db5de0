import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEndpoints } from '@millrace/services';
import { uniqueId, urlOfDatabase } from '@millrace/testing';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { createIdSource } from '../ids/index.ts';
import { createLogger } from '../log/index.ts';
import { createDb, migrate, requireSchema, schemaVersion, type Db } from './index.ts';

let directory: string;
let url: string;
let client: Client;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'migrations-'));
  const name = `millrace_test_${process.pid}_${uniqueId()}`;
  const server = readEndpoints().postgresUrl;
  url = urlOfDatabase(server, name);
  const maintenance = new Client({ connectionString: server });
  await maintenance.connect();
  await maintenance.query(`create database ${name}`);
  await maintenance.end();
  client = new Client({ connectionString: url });
  await client.connect();
});
afterEach(async () => {
  await client.end();
  const maintenance = new Client({ connectionString: readEndpoints().postgresUrl });
  await maintenance.connect();
  await maintenance.query(`drop database ${new URL(url).pathname.slice(1)} with (force)`);
  await maintenance.end();
  await rm(directory, { recursive: true });
});

const file = (name: string, sql: string) => writeFile(join(directory, name), sql);
const run = () => migrate(url, { directory });
const appliedVersions = async () =>
  (await client.query<{ version: number }>('select version from schema_migrations order by 1')).rows.map(
    (row) => row.version,
  );

async function withDb<T>(work: (db: Db) => Promise<T>): Promise<T> {
  const db = createDb({
    url,
    poolSize: 1,
    role: null,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'test', level: 'silent' }),
  });
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

describe('migrating', () => {
  it('applies each file once and only what is new', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    expect(await run()).toEqual([{ version: 1, name: 'first' }]);
    await file('0002_second.sql', 'alter table a add column b int');
    expect(await run()).toEqual([{ version: 2, name: 'second' }]);
    expect(await run()).toEqual([]);
    expect(await appliedVersions()).toEqual([1, 2]);
  });

  it('keeps nothing of a file that fails, and everything before it', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await file('0002_broken.sql', 'create table b (id int); create table a (id int)');
    await expect(run()).rejects.toThrow('Migration 2 (broken) failed; nothing of it was kept');
    expect(await appliedVersions()).toEqual([1]);
    await file('0002_broken.sql', 'create table b (id int)');
    expect(await run()).toEqual([{ version: 2, name: 'broken' }]);
  });

  it('refuses a file that was changed after it had been applied', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await run();
    await file('0001_first.sql', 'create table a (id bigint)');
    await expect(run()).rejects.toThrow('was changed after it had been applied');
  });

  it('is safe from several processes at once, also while an index is built concurrently', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await file('0002_index.sql', '-- no-transaction\ncreate index concurrently a_id_idx on a (id)');
    await file('0003_third.sql', 'create table c (id int)');
    const results = await Promise.all([run(), run(), run(), run()]);
    expect(results.flat().map(({ version }) => version)).toEqual([1, 2, 3]);
    expect(await appliedVersions()).toEqual([1, 2, 3]);
  });

  it('leaves a database alone that newer code has migrated', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await file('0002_second.sql', 'create table b (id int)');
    await run();
    await rm(join(directory, '0002_second.sql'));
    expect(await run()).toEqual([]);
  });

  it('gives up waiting for a process that never ends', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await client.query('select pg_advisory_lock($1)', [0x6d6c7263]);
    await expect(migrate(url, { directory, waitMs: 150 })).rejects.toThrow(
      'Another process has been migrating',
    );
  });
});

describe('a process that starts', () => {
  it('refuses a database that is older than its code, and accepts an equal or newer one', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await run();
    await file('0002_second.sql', 'create table b (id int)');
    await withDb(async (db) => {
      await expect(requireSchema(db, directory)).rejects.toThrow('at schema version 1 and this code needs 2');
      await run();
      await expect(requireSchema(db, directory)).resolves.toBeUndefined();
      expect(await schemaVersion(db)).toBe(2);
      await rm(join(directory, '0002_second.sql'));
      await expect(requireSchema(db, directory)).resolves.toBeUndefined();
    });
  });

  it('refuses a database that was never migrated', async () => {
    await withDb((db) => expect(requireSchema(db)).rejects.toThrow('never been migrated'));
  });
});
