import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { normaliseDump } from './dump.ts';
import { literalsOf } from './generate-tables.ts';
import { migrationsDirectory, type Db, type Tx } from './index.ts';
import { readMigrations } from './migration-files.ts';
import { assertOutsideTransaction, runInTransactionScope } from './transaction-scope.ts';

describe('readMigrations', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'migrations-'));
  });
  afterEach(() => rm(directory, { recursive: true }));
  const write = (name: string, sql = 'select 1') => writeFile(join(directory, name), sql);

  it('returns the files in order with their digests', async () => {
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

  it('rejects a missing or duplicate number and a malformed name', async () => {
    await write('0002_second.sql');
    await expect(readMigrations(directory)).rejects.toThrow('is in the position of 1');
    await write('0001_first.sql');
    await write('0001_other.sql');
    await expect(readMigrations(directory)).rejects.toThrow('without gaps or duplicates');
    await write('3_Third.sql');
    await expect(readMigrations(directory)).rejects.toThrow('not a migration file name');
  });

  it('reads the migrations of the product', async () => {
    expect((await readMigrations(migrationsDirectory)).length).toBeGreaterThan(0);
  });
});

describe('normaliseDump', () => {
  it('removes everything that depends on the server, the date or the owner', () => {
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

describe('literalsOf', () => {
  it('converts a list of allowed texts to a union and returns null for other checks', () => {
    expect(literalsOf("CHECK ((mode = ANY (ARRAY['live'::text, 'test'::text])))")).toBe("'live' | 'test'");
    expect(literalsOf('CHECK (((length(key) >= 1) AND (length(key) <= 255)))')).toBeNull();
    expect(literalsOf("CHECK (((mode = ANY (ARRAY['a'::text])) OR (mode IS NULL)))")).toBeNull();
  });
});

describe('assertOutsideTransaction', () => {
  it('throws inside a transaction and names both', async () => {
    await runInTransactionScope('take seat', async () => {
      expect(() => assertOutsideTransaction('NATS')).toThrow(
        'NATS was used inside the transaction "take seat"',
      );
    });
    expect(() => assertOutsideTransaction('NATS')).not.toThrow();
  });

  it('does not throw in work that continues after the transaction', async () => {
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

describe('Tx', () => {
  it('rejects a pool and a plain object at compile time', () => {
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
