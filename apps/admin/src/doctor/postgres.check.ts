import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readRestoreState } from '@millrace/core/restore';
import { cellConfig, postgresConfig } from '@millrace/platform/config';
import {
  createDb,
  migrationsDirectory,
  parsePostgresUrl,
  processRoles,
  schemaVersion,
  type Db,
} from '@millrace/platform/db';
import { createIdSource } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { isCertificateCode } from '@millrace/platform/tls';
import { errorCode } from '../error-code.ts';
import type { Check, CheckContext } from './check.ts';
import { finding, unresponsiveFolder, type Finding } from './finding.ts';
import { settingsOf, type Role } from './installation.ts';
import { readPostgresFacts, type PostgresFacts } from './postgres-facts.store.ts';

const CONNECT_MS = 3_000;
const OLDEST_VERSION = 150_000;
const CLOCK_DIFFERENCE_MS = 500;
const databaseRoles = ['api', 'worker', 'admin'] as const;
type DatabaseRole = (typeof databaseRoles)[number];

/** The server, the login of each role, the schema and restores. */
export const postgresCheck: Check = {
  id: 'postgres',
  title: 'PostgreSQL',
  run: async (context) => {
    const [clockRole] = databaseRoles.filter((role) => context.installation.rolesHere.includes(role));
    const results = await Promise.all(
      databaseRoles.map((role) => checkRole(context, role, { checksClock: role === clockRole })),
    );
    const facts = results.flatMap((result) => (result.facts === null ? [] : [result.facts]));
    return [...results.flatMap(({ findings }) => findings), ...checkServer(facts)];
  },
};

interface RoleResult {
  readonly findings: readonly Finding[];
  readonly facts: PostgresFacts | null;
}

const nothing: RoleResult = { findings: [], facts: null };

async function checkRole(
  context: CheckContext,
  role: DatabaseRole,
  { checksClock }: { readonly checksClock: boolean },
): Promise<RoleResult> {
  const { installation, effects } = context;
  const settings = settingsOf([postgresConfig, cellConfig], installation, role);
  if (settings === null) return nothing;
  const { url, ca } = settings.postgres;
  const { requiresTls, servers } = parsePostgresUrl(url);
  const db = createDb({
    ...{
      url,
      ca,
      poolSize: 1,
      role: processRoles[role],
      applicationName: 'millrace-doctor',
      guardClock: false,
    },
    ...{ connectTimeoutMs: CONNECT_MS, statementTimeoutMs: CONNECT_MS, graceMs: 500 },
    ids: createIdSource({ clock: effects.clock, cell: settings.cell.id }),
    log: createLogger({ name: 'doctor', level: 'silent' }),
  });
  try {
    const beforeMs = effects.clock.nowMs();
    const facts = await readPostgresFacts(db);
    const afterMs = effects.clock.nowMs();
    const isUnencrypted = !requiresTls && servers.some(({ host }) => !host.startsWith('/'));
    const values = { setting: settingOf(role) };
    return {
      facts,
      findings: [
        ...(isUnencrypted
          ? [finding('postgres-tls', 'postgres', `${settingOf(role)} has no sslmode=verify-full.`, values)]
          : []),
        ...checkRights(facts, role),
        ...(role === 'admin' ? await checkDatabase(db) : []),
        ...(checksClock ? checkClock(facts.nowMs, beforeMs, afterMs) : []),
      ],
    };
  } catch (error) {
    return { facts: null, findings: [explain(error, role, parsePostgresUrl(url).user)] };
  } finally {
    void db.close().catch(() => undefined);
  }
}

const settingOf = (role: Role): string => `MILLRACE_POSTGRES_URL of ${role}.env`;

/** The causes of all failures: the certificate, and an authority that does not match. */
const certificateCauses = ['certificate-*@postgres', 'ca-*'];

function explain(error: unknown, role: DatabaseRole, user: string): Finding {
  const code = codeOf(error);
  const message = firstLine(error);
  const setting = settingOf(role);
  switch (code) {
    case '28P01':
    case '28000':
      return finding('postgres-login-refused', role, message, { user, setting });
    case '22023':
    case '42501':
      return finding('postgres-role-missing', role, message, { user, role: processRoles[role] });
    // Too many connections: another role, or the next run, reports how many.
    case '53300':
      return finding('postgres-connections', 'postgres', 'PostgreSQL refused a connection: all are in use.');
    default:
  }
  if (isCertificateCode(code) || /offers no TLS|certificate/.test(message)) {
    const problem = `The connection to PostgreSQL is refused: ${code === '' ? message : code}.`;
    return finding('postgres-tls', 'postgres', problem, { setting }, certificateCauses);
  }
  // Equal for all roles, so that it is reported once.
  const problem = `PostgreSQL does not accept connections (${code === '' ? 'no answer' : code}).`;
  return finding(
    'postgres-unreachable',
    'postgres',
    problem,
    { setting: 'MILLRACE_POSTGRES_URL' },
    certificateCauses,
  );
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? errorCode(error) : '';
  return code === 'Error' || code === 'AggregateError' ? '' : code;
}

const firstLine = (error: unknown): string =>
  error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);

function checkRights({ login, rights }: PostgresFacts, role: DatabaseRole): readonly Finding[] {
  if (rights.length === 0) return [];
  const problem = `The login ${login} of ${role}.env has the rights ${rights.join(', ')}.`;
  return [finding('postgres-rights', role, problem, { user: login })];
}

function checkClock(databaseMs: number, beforeMs: number, afterMs: number): readonly Finding[] {
  const isAfter = databaseMs > afterMs + CLOCK_DIFFERENCE_MS;
  if (!isAfter && databaseMs > beforeMs - CLOCK_DIFFERENCE_MS) return [];
  const differenceMs = Math.round(Math.abs(databaseMs - (isAfter ? afterMs : beforeMs)));
  const problem = `The clock of the database is ${differenceMs} ms ${isAfter ? 'ahead of' : 'behind'} that of this machine.`;
  return [finding('clock-wrong', 'machine', problem)];
}

async function checkDatabase(db: Db): Promise<readonly Finding[]> {
  const needed = readdirSync(migrationsDirectory).filter((name) => name.endsWith('.sql')).length;
  const found = await schemaVersion(db).catch(() => null);
  if (found === null) return [finding('schema-missing', 'postgres', 'The database has never been migrated.')];
  if (found < needed) {
    const problem = `The schema has version ${found}, and this release needs ${needed}.`;
    return [finding('schema-old', 'postgres', problem)];
  }
  const newer = `The schema has version ${found}, and this release knows ${needed}.`;
  const { status, markedAt } = await readRestoreState(db);
  const restored = `The database was restored to about ${markedAt.toISOString()}, which is not confirmed.`;
  return [
    ...(found > needed ? [finding('schema-new', 'postgres', newer)] : []),
    ...(status === 'normal' ? [] : [finding('restore-unconfirmed', 'postgres', restored)]),
  ];
}

/** A setting may differ between the logins. */
function checkServer(sessions: readonly PostgresFacts[]): readonly Finding[] {
  const [facts] = sessions;
  if (facts === undefined) return [];
  const { version, versionNumber, connections, maxConnections, database } = facts;
  const values = { database, setting: 'MILLRACE_POSTGRES_URL' };
  const when = (is: boolean, id: Parameters<typeof finding>[0], problem: string): readonly Finding[] =>
    is ? [finding(id, 'postgres', problem, values)] : [];
  return [
    ...when(versionNumber < OLDEST_VERSION, 'postgres-version', `PostgreSQL has version ${version}.`),
    ...when(
      sessions.some(({ isReadOnly }) => isReadOnly),
      'postgres-read-only',
      'PostgreSQL accepts no writes.',
    ),
    ...when(facts.fsync === 'off', 'postgres-fsync', '`fsync` is off.'),
    ...when(
      sessions.some(({ synchronousCommit }) => synchronousCommit === 'off'),
      'postgres-synchronous-commit',
      '`synchronous_commit` is off in the sessions of the processes.',
    ),
    ...when(facts.fullPageWrites === 'off', 'postgres-full-page-writes', '`full_page_writes` is off.'),
    ...when(
      connections * 100 > maxConnections * 80,
      'postgres-connections',
      `${connections} of ${maxConnections} connections are in use.`,
    ),
  ];
}

const OLDEST_BACKUP_MS = 26 * 3_600_000;
const defaultBackupFolder = '/var/backups/millrace';

/** The newest dump in the folder of the backups. */
export const backupCheck: Check = {
  id: 'backups',
  title: 'Backups',
  run: async ({ installation, effects }) => {
    if (installation.files.admin.problem !== null) return [];
    const folder = backupFolder(installation.environment('admin'));
    const dumps = await effects.dumpsIn(folder);
    if (dumps === 'unresponsive') return [unresponsiveFolder(folder)];
    const [newest] = dumps.toSorted((one, other) => other.modifiedMs - one.modifiedMs);
    const findBackup = (problem: string, id: 'backup-missing' | 'backup-old' | 'backup-empty') => [
      finding(id, 'backups', problem),
    ];
    if (newest === undefined) return findBackup(`${folder} has no file *.dump.`, 'backup-missing');
    const path = join(folder, newest.name);
    if (newest.bytes === 0) return findBackup(`${path} is empty.`, 'backup-empty');
    const isOld = effects.clock.nowMs() - newest.modifiedMs > OLDEST_BACKUP_MS;
    return isOld ? findBackup(`The newest backup, ${path}, is older than 26 hours.`, 'backup-old') : [];
  },
};

export const backupFolder = (environment: Readonly<Record<string, string | undefined>>): string =>
  environment['MILLRACE_BACKUP_FOLDER'] ?? defaultBackupFolder;
