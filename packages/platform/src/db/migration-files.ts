import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { productFolder } from '../release/index.ts';

export const migrationsDirectory = join(productFolder, 'db', 'migrations');

export interface MigrationFile {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
  /** The index that the file builds with `create index concurrently`, outside a transaction; null for other files. */
  readonly concurrentIndex: ConcurrentIndex | null;
  readonly contracts: readonly Contract[];
}

/** An object that a migration removes: a line `-- contract: KIND NAME, unused since VERSION`. */
export interface Contract {
  readonly kind: string;
  readonly name: string;
  /** The first release that does not use it. */
  readonly since: string;
}

export function readContracts(sql: string): readonly Contract[] {
  return [...sql.matchAll(/^-- contract: (\w+) ([\w.]+), unused since (\d+\.\d+\.\d+)$/gm)].map(
    ([, kind = '', name = '', since = '']) => ({ kind, name, since }),
  );
}

export interface ConcurrentIndex {
  readonly name: string;
  readonly table: string;
  readonly isUnique: boolean;
  /** The text after the table name: columns and predicate. */
  readonly definition: string;
}

const fileName = /^(\d{4})_([a-z0-9_]+)\.sql$/;
const noTransactionMark = /^-- no-transaction$/m;
const commentLine = /^[ \t]*--.*$/gm;
const buildsOneIndex =
  /^create (unique )?index concurrently ([a-z_][a-z0-9_]*) on ([a-z_][a-z0-9_]*) ([^;]+);?$/i;

/**
 * A process can die during or after work outside a transaction, before it records it. So only one kind of statement is
 * allowed, which can be repeated after dropping its leftovers. `if not exists` would accept an invalid, half-built
 * index.
 */
function concurrentIndexOf(file: string, sql: string): ConcurrentIndex | null {
  if (!noTransactionMark.test(sql)) return null;
  const statement = sql.replaceAll(commentLine, '').replaceAll(/\s+/g, ' ').trim();
  const [, unique, name, table, definition] = buildsOneIndex.exec(statement) ?? [];
  if (name === undefined || table === undefined || definition === undefined) {
    throw new Error(
      `${file} is marked no-transaction. Such a file must contain exactly one statement: ` +
        'create [unique] index concurrently NAME on …, without "if not exists".',
    );
  }
  return { name, table, definition: definition.trim(), isUnique: unique !== undefined };
}

function parseMigration(file: string, sql: string): MigrationFile {
  const [, digits, name] = fileName.exec(file) ?? [];
  if (digits === undefined || name === undefined) {
    throw new Error(
      `${file} is not a migration file name. Use four digits, "_", lowercase words and ".sql".`,
    );
  }
  return {
    version: Number(digits),
    name,
    sql,
    sha256: createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex'),
    concurrentIndex: concurrentIndexOf(file, sql),
    contracts: readContracts(sql),
  };
}

/** All migrations in order. Numbers run from 1 without gaps, so that a file merged late cannot be skipped. */
export async function readMigrations(directory: string): Promise<readonly MigrationFile[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).toSorted();
  const migrations = await Promise.all(
    files.map(async (file) => parseMigration(file, await readFile(join(directory, file), 'utf8'))),
  );
  migrations.forEach((migration, index) => {
    if (migration.version !== index + 1) {
      throw new Error(
        `Migration ${migration.version} (${migration.name}) is in the position of ${index + 1}: ` +
          'numbers must run without gaps or duplicates.',
      );
    }
  });
  return migrations;
}
