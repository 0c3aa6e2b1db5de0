import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { normaliseDump } from './dump.ts';
import { literalsOf } from './generate-tables.ts';
import { migrationsDirectory, type Db, type Tx } from './index.ts';
import { readMigrations } from './migration-files.ts';
import { assertOutsideTransaction, runInTransactionScope } from './transaction-scope.ts';

describe('migration files', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'migrations-'));
  });
  afterEach(() => rm(directory, { recursive: true }));
  const write = (name: string, sql = 'select 1') => writeFile(join(directory, name), sql);

  it('are read in order with their digests', async () => {
    await write('0002_second.sql', '-- no-transaction\ncreate index concurrently a_idx\n  on a (b)');
    await write('0001_first.sql');
    await write('README.md');
    const files = await readMigrations(directory);
    expect(files.map(({ version, name, concurrentIndex }) => ({ version, name, concurrentIndex }))).toEqual([
      { version: 1, name: 'first', concurrentIndex: null },
      {
        version: 2,
        name: 'second',
        concurrentIndex: { name: 'a_idx', table: 'a', definition: '(b)', isUnique: false },
      },
    ]);
    expect(files[0]?.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it('are refused when a number is missing or given twice, or a name is malformed', async () => {
    await write('0002_second.sql');
    await expect(readMigrations(directory)).rejects.toThrow('stands where 1 belongs');
    await write('0001_first.sql');
    await write('0001_other.sql');
    await expect(readMigrations(directory)).rejects.toThrow('without holes or doubles');
    await write('3_Third.sql');
    await expect(readMigrations(directory)).rejects.toThrow('not named like a migration');
  });

  it('of the product are well formed', async () => {
    expect((await readMigrations(migrationsDirectory)).length).toBeGreaterThan(0);
  });
});

describe('the dump of a schema', () => {
  it('keeps nothing that depends on the server, the day or the owner', () => {
    const dump = [
      '\\restrict abcdef',
      '-- Dumped from database version 15.9',
      'SET statement_timeout = 0;',
      'CREATE SCHEMA public;',
      'CREATE TABLE public.a (\n    id uuid NOT NULL\n);',
      '',
      '',
      'ALTER DEFAULT PRIVILEGES FOR ROLE somebody IN SCHEMA public GRANT SELECT ON TABLES TO millrace_app;',
      '\\unrestrict abcdef',
    ].join('\n');
    expect(normaliseDump(dump).split('\n').slice(3)).toEqual([
      'CREATE TABLE public.a (',
      '    id uuid NOT NULL',
      ');',
      '',
      'ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO millrace_app;',
      '',
    ]);
  });
});

describe('generated column types', () => {
  it('turn a list of allowed words into a union, and leave every other check alone', () => {
    expect(literalsOf("CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))")).toBe("'live' | 'test'");
    expect(literalsOf('CHECK (((length(key) >= 1) AND (length(key) <= 255)))')).toBeNull();
    expect(literalsOf("CHECK (((mode = ANY (ARRAY['a'::text])) OR (mode IS NULL)))")).toBeNull();
  });
});

describe('the inside of a transaction', () => {
  it('refuses what must not happen there, by name', async () => {
    await runInTransactionScope('take seat', async () => {
      expect(() => assertOutsideTransaction('NATS')).toThrow(
        'NATS was used inside the transaction "take seat"',
      );
    });
    expect(() => assertOutsideTransaction('NATS')).not.toThrow();
  });

  it('ends for work that outlives the transaction', async () => {
    let late: Promise<void> | undefined;
    let release: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => {
      release = resolve;
    });
    await runInTransactionScope('short', async () => {
      late = ended.then(() => assertOutsideTransaction('NATS'));
    });
    release();
    await expect(late).resolves.toBeUndefined();
  });
});

describe('the type of a transaction', () => {
  it('is no pool, and no look-alike', () => {
    const write = (tx: Tx): Tx => tx;
    const misuse = (db: Db, kysely: Tx['kysely']): void => {
      // @ts-expect-error a pool is no transaction
      write(db);
      // @ts-expect-error a transaction is made by Db.transaction only
      write({ kysely, afterCommit: () => undefined });
    };
    expect(misuse).toBeTypeOf('function');
  });
});
