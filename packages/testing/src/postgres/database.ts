import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@millrace/platform/clock';
import { createDb, migrate, type Db } from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { readEndpoints } from '@millrace/services';
import { Client, type QueryResult, type QueryResultRow } from 'pg';
import { ensureTablespace } from './tablespace.ts';
import { isAlive, uniqueId } from '../names.ts';

const migrationsFolder = fileURLToPath(new URL('../../../../db/migrations/', import.meta.url));

/** An arbitrary number that no other advisory lock of the maintenance database uses. */
const TEMPLATE_LOCK = 7_102_500_001;

const TEMPLATE_PREFIX = 'millrace_template_';
const TEST_PREFIX = 'millrace_test_';

/** Timeouts of test pools, longer than in production, so that a slow machine does not fail a test. */
export const longDbTimeouts = {
  statementTimeoutMs: 60_000,
  lockTimeoutMs: 60_000,
  idleInTransactionTimeoutMs: 60_000,
  connectTimeoutMs: 60_000,
} as const;

export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  readonly db: Db;
  /** A separate connection, to bypass the application. */
  connect(): Promise<Client>;
  /** One statement on a separate connection. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as pg has it: a test knows the columns that it reads
  query<Row extends QueryResultRow = any>(text: string, values?: unknown[]): Promise<QueryResult<Row>>;
  drop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface TestDatabaseOptions {
  readonly poolSize?: number;
  readonly statementTimeoutMs?: number;
  /** Another server than the shared one, for a test that kills it. */
  readonly postgresUrl?: string;
  /** False: an empty database, for a test that migrates it itself. */
  readonly isMigrated?: boolean;
  /** Whether commits wait for the disk. Only benches need it on the shared server, which is never killed. */
  readonly isSynced?: boolean;
}

export function urlOfDatabase(serverUrl: string, database: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${database}`;
  return url.toString();
}

const sharedServer = (): string => readEndpoints().postgresUrl;

async function withMaintenance<T>(
  work: (client: Client) => Promise<T>,
  serverUrl: string = sharedServer(),
): Promise<T> {
  const client = new Client({ connectionString: urlOfDatabase(serverUrl, 'postgres') });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The name depends on every byte of the migrations, so that an outdated template is never cloned. */
async function templateName(): Promise<string> {
  const hash = createHash('sha256');
  const files = (await readdir(migrationsFolder)).filter((file) => file.endsWith('.sql')).toSorted();
  for (const file of files) hash.update(`${file}\n`).update(await readFile(`${migrationsFolder}${file}`));
  return `${TEMPLATE_PREFIX}${hash.digest('hex').slice(0, 16)}`;
}

async function databaseExists(client: Client, name: string): Promise<boolean> {
  const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [name]);
  return rowCount === 1;
}

async function buildTemplate(client: Client, serverUrl: string, name: string): Promise<void> {
  const building = `${name}_building`;
  await client.query(`drop database if exists ${building} with (force)`);
  await client.query(`create database ${building}`);
  await migrate(urlOfDatabase(serverUrl, building), {
    log: createLogger({ name: 'template', level: 'warn' }),
  });
  // A template must not have sessions, because they would make every clone fail.
  await client.query(`alter database ${building} with allow_connections false is_template true`);
  await client.query(`alter database ${building} rename to ${name}`);
}

async function dropOtherTemplates(client: Client, current: string): Promise<void> {
  const { rows } = await client.query<{ datname: string }>(
    'select datname from pg_database where datname like $1 and datname <> $2',
    [`${TEMPLATE_PREFIX}%`, current],
  );
  for (const { datname } of rows) {
    await client.query(`alter database ${datname} with is_template false`);
    await client.query(`drop database if exists ${datname} with (force)`);
  }
}

/** Builds the migrated template once per state of the migrations; concurrent callers wait for the first. */
async function makeTemplate(serverUrl: string): Promise<string> {
  const name = await templateName();
  await withMaintenance(async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    if (await databaseExists(client, name)) return;
    await buildTemplate(client, serverUrl, name);
    await dropOtherTemplates(client, name);
  }, serverUrl);
  return name;
}

export const ensureTemplate = oncePerServer(makeTemplate);

const ensureTestTablespace = oncePerServer((serverUrl) =>
  withMaintenance(async (client) => {
    await client.query('select pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    return ensureTablespace(client);
  }, serverUrl),
);

/** The next caller retries failed work. */
function oncePerServer<T>(work: (serverUrl: string) => Promise<T>): (serverUrl?: string) => Promise<T> {
  const known = new Map<string, Promise<T>>();
  return async (serverUrl = sharedServer()) => {
    const started = known.get(serverUrl) ?? work(serverUrl);
    known.set(serverUrl, started);
    try {
      return await started;
    } catch (error) {
      known.delete(serverUrl);
      throw error;
    }
  };
}

/** Drops the databases of killed runs; the name of a test database contains its owner's pid. */
export async function dropAbandonedDatabases(): Promise<number> {
  return withMaintenance(async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'select datname from pg_database where datname like $1',
      [`${TEST_PREFIX}%`],
    );
    const abandoned = rows.filter(
      (row) => !isAlive(Number(row.datname.slice(TEST_PREFIX.length).split('_')[0])),
    );
    for (const { datname } of abandoned) {
      await client.query(`drop database if exists ${datname} with (force)`);
    }
    return abandoned.length;
  });
}

/** Clones of one template would otherwise look like backups of each other, and restore detection would fail. */
async function nameInstallation(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('update restore_state set installation = gen_random_uuid()');
  } finally {
    await client.end();
  }
}

/** A database for one test file: a clone of the migrated template, created in a tenth of a second. */
export async function createTestDatabase(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const serverUrl = options.postgresUrl ?? sharedServer();
  // Another server may reuse the address of an earlier one, so its template is checked each time.
  const template =
    options.postgresUrl === undefined ? await ensureTemplate() : await makeTemplate(options.postgresUrl);
  const name = `${TEST_PREFIX}${process.pid}_${uniqueId()}`;
  const isSynced = options.isSynced ?? options.postgresUrl !== undefined;
  const space = isSynced ? null : await ensureTestTablespace(serverUrl);
  const place = space === null ? '' : `tablespace ${space}`;
  await withMaintenance(async (client) => {
    const origin = options.isMigrated === false ? 'template0' : template;
    await client.query(`create database ${name} template ${origin} ${place}`);
    // A clone does not have the rights on the database that the migrations revoked.
    await client.query(`revoke temporary on database ${name} from public`);
    if (!isSynced) await client.query(`alter database ${name} set synchronous_commit = off`);
  }, serverUrl);
  const url = urlOfDatabase(serverUrl, name);
  if (options.isMigrated !== false) await nameInstallation(url);
  const db = createDb({
    ...longDbTimeouts,
    url,
    poolSize: options.poolSize ?? 8,
    statementTimeoutMs: options.statementTimeoutMs ?? longDbTimeouts.statementTimeoutMs,
    ids: createIdSource({ clock: systemClock, cell: 1 }),
    log: createLogger({ name: 'database', level: 'error' }),
  });
  await db.ping();
  const drop = async (): Promise<void> => {
    await db.close();
    await withMaintenance(
      (client) => client.query(`drop database if exists ${name} with (force)`),
      serverUrl,
    );
  };
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: url });
    // `drop` may terminate this session on the server, which must not crash the test process.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  };
  return {
    name,
    url,
    db,
    connect,
    query: async (text, values) => {
      const client = await connect();
      try {
        return await client.query(text, values);
      } finally {
        await client.end();
      }
    },
    drop,
    [Symbol.asyncDispose]: drop,
  };
}
