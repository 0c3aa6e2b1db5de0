import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { parsePostgresUrl } from '@millrace/platform/db';
import { databaseName } from './layout.ts';
import type { Secrets } from './secrets.ts';

/** Groups of the migrations, which grant them their rights. */
const groupRoles = ['millrace_app', 'millrace_api', 'millrace_worker', 'millrace_admin'] as const;

/** The group of each login. The owner is in none. */
const groupsOfLogins = {
  millrace_owner: null,
  millrace_api_1: 'millrace_api',
  millrace_worker_1: 'millrace_worker',
  millrace_admin_1: 'millrace_admin',
} as const;

export interface ServerCertificateFiles {
  readonly certificateFile: string;
  readonly keyFile: string;
}

/**
 * Renders a repeatable script for psql. It contains no passwords, only what the server stores of them. `tls` is null if Patroni sets the
 * certificate of the server.
 */
export function preparationScript(urls: Secrets['postgresUrls'], tls: ServerCertificateFiles | null): string {
  const logins = Object.entries(groupsOfLogins).flatMap(([login, group]) => [
    ...createRole(login, 'login'),
    ...setPassword(login, urls[login as keyof typeof urls]),
    ...(group === null ? [] : [`grant ${group} to ${login};`]),
  ]);
  const settings =
    tls === null ? {} : { ssl_cert_file: tls.certificateFile, ssl_key_file: tls.keyFile, ssl: 'on' };
  return [
    '\\set VERBOSITY terse',
    // Otherwise each grant that exists is a notice.
    'set client_min_messages = warning;',
    ...groupRoles.flatMap((role) => createRole(role, 'nologin')),
    'grant millrace_api, millrace_worker, millrace_admin to millrace_app;',
    ...logins,
    // Not the encoding and the order of the machine's language, which differ between machines.
    `select $$create database ${databaseName} owner millrace_owner template template0 encoding 'UTF8' locale 'C'$$`,
    `  where not exists (select from pg_database where datname = ${literal(databaseName)})\\gexec`,
    ...Object.entries(settings).map(([name, value]) => `alter system set ${name} = ${literal(value)};`),
    ...(tls === null ? [] : ['select pg_reload_conf();']),
    '',
  ].join('\n');
}

function createRole(name: string, kind: 'login' | 'nologin'): readonly string[] {
  const missing = `not exists (select from pg_roles where rolname = ${literal(name)})`;
  return [`select 'create role ${name} ${kind}' where ${missing}\\gexec`];
}

/** Always set, because a run may have ended between the file with the password and this script. */
function setPassword(login: string, url: string): readonly string[] {
  const { user, password } = parsePostgresUrl(url);
  // The operator has given the process another login, which this command does not own.
  if (user !== login || password === '') return [];
  return [`alter role ${login} login password ${literal(scramVerifier(password, randomBytes(16)))};`];
}

/** The form in which PostgreSQL stores a password (RFC 5803), so that its log never contains the password. */
export function scramVerifier(password: string, salt: Buffer, iterations = 4096): string {
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, iterations, 32, 'sha256');
  const hmac = (text: string): Buffer => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(hmac('Client Key')).digest('base64');
  const serverKey = hmac('Server Key').toString('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`;
