import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the product's own migrations are. */
export const migrationsDirectory = fileURLToPath(new URL('../../../../db/migrations/', import.meta.url));

export interface MigrationFile {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly sha256: string;
  /** The index that the file builds outside a transaction, as `create index concurrently` must; null for others. */
  readonly concurrentIndex: ConcurrentIndex | null;
}

export interface ConcurrentIndex {
  readonly name: string;
  readonly table: string;
  readonly isUnique: boolean;
  /** All that follows the name of the table: columns, predicate. */
  readonly definition: string;
}

const fileName = /^(\d{4})_([a-z0-9_]+)\.sql$/;
const noTransactionMark = /^-- no-transaction$/m;
const commentLine = /^[ \t]*--.*$/gm;
const buildsOneIndex =
  /^create (unique )?index concurrently ([a-z_][a-z0-9_]*) on ([a-z_][a-z0-9_]*) ([^;]+);?$/i;

/**
 * Without a transaction a process can die half way, or before it has noted what it did. The one statement allowed
 * there can always be begun again, once what the dead process left has been dropped. `if not exists` would take an
 * index that is there half built, and never used, for a finished one.
 */
function concurrentIndexOf(file: string, sql: string): ConcurrentIndex | null {
  if (!noTransactionMark.test(sql)) return null;
  const statement = sql.replaceAll(commentLine, '').replaceAll(/\s+/g, ' ').trim();
  const [, unique, name, table, definition] = buildsOneIndex.exec(statement) ?? [];
  if (name === undefined || table === undefined || definition === undefined) {
    throw new Error(
      `${file} is marked no-transaction, and such a file holds one statement only: ` +
        'create [unique] index concurrently NAME on …, without "if not exists".',
    );
  }
  return { name, table, definition: definition.trim(), isUnique: unique !== undefined };
}

function parseMigration(file: string, sql: string): MigrationFile {
  const [, digits, name] = fileName.exec(file) ?? [];
  if (digits === undefined || name === undefined) {
    throw new Error(`${file} is not named like a migration: four digits, "_", lower case words, ".sql".`);
  }
  return {
    version: Number(digits),
    name,
    sql,
    sha256: createHash('sha256').update(sql.replaceAll('\r\n', '\n')).digest('hex'),
    concurrentIndex: concurrentIndexOf(file, sql),
  };
}

/** All migrations in order. Numbers run from 1 without holes, so a file merged late cannot be passed over. */
export async function readMigrations(directory: string): Promise<readonly MigrationFile[]> {
  const files = (await readdir(directory)).filter((file) => file.endsWith('.sql')).toSorted();
  const migrations = await Promise.all(
    files.map(async (file) => parseMigration(file, await readFile(join(directory, file), 'utf8'))),
  );
  migrations.forEach((migration, index) => {
    if (migration.version !== index + 1) {
      throw new Error(
        `Migration ${migration.version} (${migration.name}) stands where ${index + 1} belongs: ` +
          'numbers must run without holes or doubles.',
      );
    }
  });
  return migrations;
}
