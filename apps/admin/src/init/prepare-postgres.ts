import type { Clock } from '@millrace/platform/clock';
import { migrate } from '@millrace/platform/db';
import { hostOf, isLoopback } from '@millrace/platform/net';
import { hasErrorCode } from '../error-code.ts';
import { CommandError } from '../command.ts';
import { preparationScript, type ServerCertificateFiles } from './postgres-roles.ts';
import { postgresEnvironment } from '../postgres-environment.ts';
import { databaseName } from './layout.ts';
import { ProgramError, runProgram, type ProgramOptions } from '../run-program.ts';
import type { Secrets } from './secrets.ts';
import { findUser } from './system-groups.ts';

const administrator = 'postgres';
const reloadMs = 30_000;
const retryMs = 200;
const primaryMs = 120_000;
const primaryRetryMs = 1_000;

export interface PrepareOptions {
  /** Null if the server has its certificate from Patroni. */
  readonly tls: ServerCertificateFiles | null;
  /** Null: the administrator of this machine's server. */
  readonly administratorUrl: string | null;
  readonly port: number;
  /** The authority of the server on another machine. Null: only a server on this machine. */
  readonly caFile: string | null;
}

/**
 * The owner of the tables in the database of an earlier installation, or null if there is none. Its stored secrets can be
 * read only with its sealing keys.
 */
export async function ownerOfEarlierDatabase({
  administratorUrl,
  port,
  caFile,
}: Omit<PrepareOptions, 'tls'>): Promise<string | null> {
  const connection = await connectionOf({ administratorUrl, port, caFile });
  const read = async (database: string, query: string): Promise<string> => {
    const options = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', database, '-c', query];
    return (await runPsql(options, connection)).trim();
  };
  const found = await read('postgres', `select 1 from pg_database where datname = '${databaseName}'`);
  if (found === '') return null;
  const owner =
    "select tableowner from pg_tables where schemaname = 'public' and tablename = 'platform_roles'";
  return (await read(databaseName, owner)) || null;
}

/** Waits until one of several servers accepts writes: Patroni needs a moment to create the database. */
export async function waitForPrimary(
  { url, caFile }: { readonly url: string; readonly caFile: string },
  clock: Clock,
): Promise<void> {
  const deadlineMs = clock.monotonicMs() + primaryMs;
  for (;;) {
    try {
      await runPsql(['-X', '-q', '-c', 'select 1', '-o', '/dev/null'], withUrl(url, caFile));
      return;
    } catch (error) {
      if (clock.monotonicMs() >= deadlineMs) throw error;
      await clock.sleep(primaryRetryMs);
    }
  }
}

/** Creates roles, logins and the database, and gives the server its certificate. Can be repeated. */
export async function preparePostgres(
  urls: Secrets['postgresUrls'],
  { tls, administratorUrl, port, caFile }: PrepareOptions,
): Promise<void> {
  const connection = await connectionOf({ administratorUrl, port, caFile });
  const options = ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null'];
  await runPsql(options, { ...connection, input: preparationScript(urls, tls) });
}

function connectionOf({
  administratorUrl,
  port,
  caFile,
}: Omit<PrepareOptions, 'tls'>): Promise<ProgramOptions> {
  return administratorUrl === null ? onSocket(port) : Promise.resolve(withUrl(administratorUrl, caFile));
}

async function runPsql(options: readonly string[], connection: ProgramOptions): Promise<string> {
  try {
    return await runProgram('psql', options, connection);
  } catch (error) {
    const why = error instanceof ProgramError || hasErrorCode(error, 'ENOENT') ? error.message : null;
    if (why === null) throw error;
    throw new CommandError(
      `PostgreSQL could not be prepared. ${why}\n` +
        'Check that its server runs (systemctl status postgresql), and run this command again.',
      { cause: error },
    );
  }
}

/** The server accepts its own administrator on the socket without a password. */
async function onSocket(port: number): Promise<ProgramOptions> {
  const user = await findUser(administrator);
  if (user === null) {
    throw new CommandError('The user postgres does not exist. Install the package postgresql first.');
  }
  return {
    user,
    env: {
      // Explicit, because Debian's psql otherwise chooses one of several clusters.
      ...{ PGHOST: '/var/run/postgresql', PGPORT: String(port), PGUSER: administrator },
      ...{ PGDATABASE: administrator, PGAPPNAME: 'millrace-init' },
    },
  };
}

/** The certificate that the server gets is a file of this machine. */
function withUrl(url: string, caFile: string | null): ProgramOptions {
  if (caFile === null && !isLoopback(hostOf(new URL(url)))) {
    throw new CommandError(
      'MILLRACE_POSTGRES_ADMIN_URL names another machine. This command prepares only a server on this one; for others, follow docs/guides/connections.md.',
    );
  }
  return { env: postgresEnvironment(url, { caFile, name: 'millrace-init' }) };
}

/** Migrates with the login of the owner. The server needs a moment to use its new certificate. */
export async function migrateAsOwner(
  access: { readonly url: string; readonly ca: string },
  clock: Clock,
): Promise<number> {
  const deadlineMs = clock.monotonicMs() + reloadMs;
  for (;;) {
    try {
      return (await migrate(access.url, { ca: access.ca, clock })).length;
    } catch (error) {
      // A failed migration names the statement as its cause, and waiting does not help.
      if (!isCertificateProblem(error) || clock.monotonicMs() >= deadlineMs) throw error;
      await clock.sleep(retryMs);
    }
  }
}

function isCertificateProblem(error: unknown): boolean {
  return error instanceof Error && /certificate|TLS|SSL/i.test(error.message);
}
