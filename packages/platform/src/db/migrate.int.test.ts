import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEndpoints } from '@millrace/services';
import { eventually, uniqueId, urlOfDatabase } from '@millrace/testing';
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

describe('migrate', () => {
  it('applies each file once, and later only new files', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    expect(await run()).toEqual([{ version: 1, name: 'first' }]);
    await file('0002_second.sql', 'alter table a add column b int');
    expect(await run()).toEqual([{ version: 2, name: 'second' }]);
    expect(await run()).toEqual([]);
    expect(await appliedVersions()).toEqual([1, 2]);
  });

  it('rolls back a file that fails and keeps the files before it', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await file('0002_broken.sql', 'create table b (id int); create table a (id int)');
    await expect(run()).rejects.toThrow('Migration 2 (broken) failed; it was rolled back');
    expect(await appliedVersions()).toEqual([1]);
    await file('0002_broken.sql', 'create table b (id int)');
    expect(await run()).toEqual([{ version: 2, name: 'broken' }]);
  });

  it('refuses a file that changed after it was applied', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await run();
    await file('0001_first.sql', 'create table a (id bigint)');
    await expect(run()).rejects.toThrow('was changed after it was applied');
  });

  it('is safe from several processes at once, also while an index is built concurrently', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await file('0002_index.sql', '-- no-transaction\ncreate index concurrently a_id_idx on a (id)');
    await file('0003_third.sql', 'create table c (id int)');
    const results = await Promise.all([run(), run(), run(), run()]);
    expect(results.flat().map(({ version }) => version)).toEqual([1, 2, 3]);
    expect(await appliedVersions()).toEqual([1, 2, 3]);
  });

  it('rebuilds an index after a process died, whether the build had finished or not', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await run();
    await client.query('insert into a values (1), (1)');
    // A unique index over duplicates fails during the build and leaves an invalid index, as a crash does.
    await file('0002_index.sql', '-- no-transaction\ncreate unique index concurrently a_id_idx on a (id);\n');
    await expect(run()).rejects.toThrow('Migration 2 (index) failed');
    await client.query('delete from a');
    expect(await run()).toEqual([{ version: 2, name: 'index' }]);
    // The build finished, but the process died before it recorded the migration.
    await client.query('delete from schema_migrations where version = 2');
    expect(await run()).toEqual([{ version: 2, name: 'index' }]);
    const { rows } = await client.query(
      "select indisvalid from pg_index where indexrelid = 'a_id_idx'::regclass",
    );
    expect(rows).toEqual([{ indisvalid: true }]);
  });

  it('builds an index partition by partition and continues after a crash, while rows are written', async () => {
    await file('0001_first.sql', 'create table a (id int) partition by range (id)');
    await run();
    for (const n of [1, 2, 3]) {
      await client.query(`create table a_${n} partition of a for values from (${n}) to (${n + 1})`);
    }
    await client.query('insert into a values (1), (2), (3)');
    await file(
      '0002_index.sql',
      '-- no-transaction\ncreate index concurrently a_id_idx on a (id) where id > 1',
    );
    // The state after a crash: the index of the parent, one attached partition index and one that is not attached.
    await client.query('create index a_id_idx on only a (id) where id > 1');
    await client.query('create index a_1_id_idx on a_1 (id) where id > 1');
    await client.query('alter index a_id_idx attach partition a_1_id_idx');
    await client.query('create index a_2_id_idx on a_2 (id) where id > 1');
    // The build waits for this transaction, which wrote to the last partition, and does not block other writers.
    await client.query('begin');
    await client.query('insert into a_3 values (3)');
    const building = migrate(url, { directory, lockTimeoutMs: 2_000 });
    const writer = new Client({ connectionString: url, lock_timeout: 2_000 });
    await writer.connect();
    await eventually({ what: 'the index waits for us' }, async () => {
      const { rowCount } = await writer.query(
        `select 1 from pg_stat_activity where application_name = 'millrace-migrate' and wait_event_type = 'Lock'
            and query like 'create index concurrently a_3%' and datname = current_database()`,
      );
      return rowCount === 1;
    });
    await writer.query('insert into a values (1), (2), (3)');
    await writer.end();
    await client.query('commit');
    expect(await building).toEqual([{ version: 2, name: 'index' }]);
    const { rows } = await client.query(
      `select indexrelid::regclass::text as name, indisvalid as valid from pg_index
        where indrelid::regclass::text ~ '^a(_|$)' order by 1`,
    );
    expect(rows).toEqual(['a_1', 'a_2', 'a_3', 'a'].map((t) => ({ name: `${t}_id_idx`, valid: true })));
  });

  it.each([
    ['two statements', 'create index concurrently a_idx on a (id); create table b (id int)'],
    ['a statement that cannot be repeated', 'create table b (id int)'],
    ['an index that may already exist half built', 'create index concurrently if not exists a_idx on a (id)'],
  ])('refuses a no-transaction file with %s before it runs any file', async (_, text) => {
    await file('0001_first.sql', 'create table a (id int)');
    await file('0002_unsafe.sql', `-- no-transaction\n-- Why: a comment.\n${text}`);
    await expect(run()).rejects.toThrow('0002_unsafe.sql');
    const { rows } = await client.query("select to_regclass('a') as a");
    expect(rows).toEqual([{ a: null }]);
  });

  it('waits for a long transaction when it builds an index, beyond the lock timeout', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await run();
    await file('0002_index.sql', '-- no-transaction\ncreate index concurrently a_id_idx on a (id)');
    await client.query('begin');
    await client.query('insert into a values (1)');
    const building = migrate(url, { directory, lockTimeoutMs: 50 });
    await eventually({ what: 'the index waits for us' }, async () => {
      const waiting =
        "select 1 from pg_stat_activity where application_name = 'millrace-migrate' and wait_event_type = 'Lock' and query_start < now() - interval '200 milliseconds'";
      const watcher = new Client({ connectionString: url });
      await watcher.connect();
      const { rowCount } = await watcher.query(waiting);
      await watcher.end();
      return rowCount === 1;
    });
    await client.query('commit');
    expect(await building).toEqual([{ version: 2, name: 'index' }]);
  });

  it('fails and rolls back when its session is terminated', async () => {
    await file('0001_slow.sql', 'create table a (id int); select pg_sleep(30)');
    const failing = run().catch((error: unknown) => error);
    await eventually({ what: 'the session ended' }, async () => {
      const { rows } = await client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like '%pg_sleep(30)%' and application_name = 'millrace-migrate'",
      );
      return rows.length === 1;
    });
    expect(String(await failing)).toContain('Migration 1 (slow) failed; it was rolled back');
    await file('0001_slow.sql', 'create table a (id int)');
    expect(await run()).toEqual([{ version: 1, name: 'slow' }]);
  });

  it('refuses a database whose migration record has a gap', async () => {
    for (const n of [1, 2, 3]) await file(`000${n}_t.sql`, `create table t${n} (id int)`);
    await run();
    await client.query('delete from schema_migrations where version = 2');
    await expect(run()).rejects.toThrow(
      'Migration 2 (t) is missing in schema_migrations of a database at version 3',
    );
  });

  it('does nothing to a database that newer code has migrated', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await file('0002_second.sql', 'create table b (id int)');
    await run();
    await rm(join(directory, '0002_second.sql'));
    expect(await run()).toEqual([]);
  });

  it('fails when its session is terminated while it waits for the migration lock', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await client.query('select pg_advisory_lock($1)', [0x6d6c7263]);
    const failing = migrate(url, { directory, waitMs: 20_000 }).catch((error: unknown) => error);
    await eventually({ what: 'the session ended' }, async () => {
      const { rows } = await client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'millrace-migrate' and state = 'idle'",
      );
      return rows.length === 1;
    });
    expect(await failing).toBeInstanceOf(Error);
  });

  it('fails after its maximum wait for another migration', async () => {
    await file('0001_first.sql', 'create table a (id int)');
    await client.query('select pg_advisory_lock($1)', [0x6d6c7263]);
    await expect(migrate(url, { directory, waitMs: 150 })).rejects.toThrow(
      'Another process has been migrating',
    );
  });
});

describe('requireSchema', () => {
  it('rejects a database older than the code and accepts an equal or newer one', async () => {
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

  it('rejects a database that was never migrated', async () => {
    await withDb((db) =>
      expect(requireSchema(db)).rejects.toThrow('never been migrated. Run millrace-admin migrate'),
    );
  });
});
