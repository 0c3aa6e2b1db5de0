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
  /** Runs outside a transaction, as `create index concurrently` must. Then it holds one statement only. */
  readonly transactional: boolean;
}

const fileName = /^(\d{4})_([a-z0-9_]+)\.sql$/;
const noTransactionMark = /^-- no-transaction$/m;

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
    transactional: !noTransactionMark.test(sql),
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
