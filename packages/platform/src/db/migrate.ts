import { sql } from 'kysely';
import type { Client } from 'pg';
import { systemClock, type Clock } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import { buildIndex } from './concurrent-index.ts';
import { connectClient } from './connect.ts';
import type { Db } from './db.ts';
import { isUndefinedTable } from './errors.ts';
import { migrationsDirectory, readMigrations, type MigrationFile } from './migration-files.ts';

export interface AppliedMigration {
  readonly version: number;
  readonly name: string;
}

export interface MigrateOptions {
  readonly log?: Pick<Logger, 'info'>;
  readonly clock?: Clock;
  /** As in `createDb`. */
  readonly ca?: string | null;
  readonly directory?: string;
  /** The maximum wait for another process that migrates the same database. */
  readonly waitMs?: number;
  /** The maximum wait of a statement for locks. */
  readonly lockTimeoutMs?: number;
}

// An arbitrary number that no other lock uses: the letters "mlrc".
const migrationLock = 0x6d6c7263;
const lockPollMs = 100;
const defaultWaitMs = 120_000;
// Traffic queues behind a migration that waits for its lock, so the wait is short.
const defaultLockTimeoutMs = 10_000;
const connectTimeoutMs = 30_000;

/**
 * Applies pending migrations, each in a transaction that records it. Safe concurrently and after a crash. The login in the
 * URL must own the schema.
 */
export async function migrate(
  url: string,
  options: MigrateOptions = {},
): Promise<readonly AppliedMigration[]> {
  const files = await readMigrations(options.directory ?? migrationsDirectory);
  const client = await connectClient(
    { url, ca: options.ca ?? null },
    {
      application_name: 'millrace-migrate',
      lock_timeout: options.lockTimeoutMs ?? defaultLockTimeoutMs,
      connectionTimeoutMillis: connectTimeoutMs,
    },
  );
  try {
    await lock(client, options.clock ?? systemClock, options.waitMs ?? defaultWaitMs);
    await client.query(createMigrationsTable);
    const pending = selectPending(files, await readApplied(client));
    for (const file of pending) {
      await apply(client, file);
      options.log?.info({ version: file.version, migration: file.name }, 'migration applied');
    }
    return pending.map(({ version, name }) => ({ version, name }));
  } finally {
    // Ending the session also releases the advisory lock.
    await client.end();
  }
}

const createMigrationsTable = `
  create table if not exists schema_migrations (
    version integer primary key,
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default now()
  );
  comment on table schema_migrations is 'Which migrations this database has had. Written by the migrator only.';
  comment on column schema_migrations.sha256 is 'Digest of the file as it was applied; a changed file is refused.';
`;

/**
 * Polls, because a session that waits for a lock holds a snapshot, for which `create index concurrently` in the lock's
 * owner would wait forever.
 */
async function lock(client: Client, clock: Clock, waitMs: number): Promise<void> {
  const deadlineMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      migrationLock,
    ]);
    if (rows[0]?.locked) return;
    if (clock.monotonicMs() >= deadlineMs) {
      throw new Error(
        `Another process has been migrating this database for ${waitMs} ms. ` +
          'See application_name millrace-migrate in pg_stat_activity.',
      );
    }
    await clock.sleep(lockPollMs);
  }
}

interface Applied {
  readonly version: number;
  readonly sha256: string;
}

async function readApplied(client: Client): Promise<readonly Applied[]> {
  const { rows } = await client.query<Applied>(
    'select version, sha256 from schema_migrations order by version',
  );
  return rows;
}

/** The migrations to apply; none if the database is newer than these files, because newer code has migrated it. */
function selectPending(
  files: readonly MigrationFile[],
  applied: readonly Applied[],
): readonly MigrationFile[] {
  const digests = new Map(applied.map(({ version, sha256 }) => [version, sha256]));
  for (const file of files) {
    const digest = digests.get(file.version);
    if (digest !== undefined && digest !== file.sha256) {
      throw new Error(
        `Migration ${file.version} (${file.name}) was changed after it was applied. ` +
          'Restore the file and make the change in a new migration.',
      );
    }
  }
  const pending = files.filter(({ version }) => !digests.has(version));
  const newest = Math.max(0, ...digests.keys());
  const skipped = pending.find(({ version }) => version < newest);
  if (skipped !== undefined) {
    throw new Error(
      `Migration ${skipped.version} (${skipped.name}) is missing in schema_migrations of a database at version ` +
        `${newest}. Migrations run in order, so the record was edited manually. Find out why, and restore it.`,
    );
  }
  return pending;
}

async function apply(client: Client, file: MigrationFile): Promise<void> {
  const record = () =>
    client.query('insert into schema_migrations (version, name, sha256) values ($1, $2, $3)', [
      file.version,
      file.name,
      file.sha256,
    ]);
  try {
    if (file.concurrentIndex === null) {
      await client.query('begin');
      await client.query(file.sql);
      await record();
      await client.query('commit');
    } else {
      await buildIndex(client, file.concurrentIndex);
      await record();
    }
  } catch (error) {
    const outcome =
      file.concurrentIndex === null ? 'it was rolled back' : 'the next run continues or rebuilds the index';
    throw new Error(`Migration ${file.version} (${file.name}) failed; ${outcome}.`, { cause: error });
  }
}

/** The schema version of the database; 0 if the record is empty. */
export async function schemaVersion(db: Db): Promise<number> {
  const { rows } = await sql<{ version: number | null }>`
    select max(version) as version from schema_migrations
  `.execute(db.kysely);
  return rows[0]?.version ?? 0;
}

const howToMigrate = 'Run millrace-admin migrate first.';

/**
 * Throws if the database is older than this code expects. A newer database is accepted: migrations stay compatible with
 * older code, so a deployment migrates first and replaces the processes later. Also reads the time of the database,
 * because `db.clock` throws before the first reading.
 */
export async function requireSchema(db: Db, directory = migrationsDirectory): Promise<void> {
  const needed = (await readMigrations(directory)).length;
  const found = await schemaVersion(db).catch((error: unknown) => {
    if (isUndefinedTable(error)) {
      throw new Error(`The database has never been migrated. ${howToMigrate}`, { cause: error });
    }
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`The database cannot be read (${why}). Check MILLRACE_POSTGRES_URL.`, {
      cause: error,
    });
  });
  if (found < needed) {
    throw new Error(
      `The database is at schema version ${found} and this code needs ${needed}. ${howToMigrate}`,
    );
  }
  await db.ping();
}
