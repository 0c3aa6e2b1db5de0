import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Engine, Group, NodeSpec } from '../engine.ts';
import { commandLine, runOrThrow, run } from '../processes.ts';
import { postgresCommand, postgresOwner, postgresProgram } from './postgres-command.ts';
import { createLoginsSql, postgresLogins } from '../secure/postgres-logins.ts';
import { siteSecret } from '../secure/site-secrets.ts';
import { caFile, ensureServerCertificate, type ServerTlsFiles } from '../secure/site-tls.ts';
import { isTraversableByAll, knownHome, nodeHome, type Site } from '../site.ts';

const user = 'millrace';
const database = 'millrace';
/** User postgres cannot enter a checkout below /root or in another private folder. */
function homeOf(site: Site, node: NodeSpec): string {
  return nodeHome(site, node.name, (folder) => !site.isRoot || isTraversableByAll(folder));
}

export interface SecurePostgres {
  readonly tls: ServerTlsFiles;
  readonly hbaFile: string;
}

export function renderPostgresConf(port: number, secure?: SecurePostgres): string {
  return [
    "listen_addresses = '127.0.0.1'",
    `port = ${port}`,
    // No Unix socket: its path is limited to 108 bytes, and a state folder may have a longer one.
    "unix_socket_directories = ''",
    'max_connections = 200',
    'shared_buffers = 256MB',
    // The ledger is never used without these settings, not even in a test.
    'fsync = on',
    'synchronous_commit = on',
    'full_page_writes = on',
    "timezone = 'UTC'",
    "log_timezone = 'UTC'",
    "log_line_prefix = '%m [%p] %d '",
    'jit = off',
    ...(secure === undefined ? [] : renderTls(secure)),
    '',
  ].join('\n');
}

function renderTls({ tls, hbaFile }: SecurePostgres): readonly string[] {
  return [
    'ssl = on',
    `ssl_cert_file = ${quote(tls.certificateFile)}`,
    `ssl_key_file = ${quote(tls.keyFile)}`,
    'password_encryption = scram-sha-256',
    `hba_file = ${quote(hbaFile)}`,
  ];
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Only connections with TLS and a password. */
export const secureHba = ['127.0.0.1/32', '::1/128']
  .map((address) => `hostssl all all ${address} scram-sha-256\n`)
  .join('');

/** `initdb` writes to a draft folder that is renamed when complete, so a crash leaves all or nothing. */
async function initialise(site: Site, home: string, giveToServerUser: (file: string) => void): Promise<void> {
  const data = path.join(home, 'data');
  const draft = path.join(home, 'data.new');
  const passwordFile = path.join(home, 'password');
  rmSync(draft, { recursive: true, force: true });
  if (site.secure === true) {
    writeFileSync(passwordFile, superuserPassword(site), { mode: 0o600 });
    giveToServerUser(passwordFile);
  }
  const auth = site.secure === true ? ['--auth=scram-sha-256', `--pwfile=${passwordFile}`] : ['--auth=trust'];
  const options = ['-U', user, ...auth, '--no-locale', '-E', 'UTF8', '--data-checksums'];
  const { file, args } = postgresCommand('initdb', ['-D', draft, ...options], site);
  try {
    await runOrThrow(file, args, { timeoutMs: 120_000, cwd: '/' });
  } finally {
    rmSync(passwordFile, { force: true });
  }
  renameSync(draft, data);
}

function superuserPassword(site: Site): string {
  return siteSecret(site, 'postgres-superuser');
}

async function secureFiles(
  site: Site,
  home: string,
  giveToServerUser: (file: string) => void,
): Promise<SecurePostgres | undefined> {
  if (site.secure !== true) return undefined;
  const tls = await ensureServerCertificate(site, home);
  giveToServerUser(tls.keyFile);
  const hbaFile = path.join(home, 'pg_hba.conf');
  writeFileSync(hbaFile, secureHba);
  chmodSync(hbaFile, 0o644);
  return { tls, hbaFile };
}

/** A stale pid file blocks the start if its pid now belongs to another process of the same user. */
function removeStalePidFile(data: string): void {
  const file = path.join(data, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (!commandLine(pid).includes(data)) rmSync(file);
}

async function query(site: Site, node: NodeSpec, on: string, sql: string): Promise<string> {
  const connection = ['-h', '127.0.0.1', '-p', String(node.ports['client']), '-U', user, '-d', on];
  const env =
    site.secure === true
      ? { PGPASSWORD: superuserPassword(site), PGSSLMODE: 'verify-full', PGSSLROOTCERT: caFile(site) }
      : undefined;
  const command = [...connection, '-v', 'ON_ERROR_STOP=1', '-XAtqc', sql];
  const finished = await run(postgresProgram('psql'), command, { timeoutMs: 5000, cwd: '/', env });
  if (finished.code === 0) return finished.stdout.trim();
  throw new Error(`no answer to a query: ${finished.stderr.trim()}`);
}

function onlyNode(group: Group): NodeSpec {
  const [node] = group.nodes;
  if (node === undefined) throw new Error('PostgreSQL has one node');
  return node;
}

export const postgres: Engine = {
  name: 'postgres',
  title: 'PostgreSQL 15',
  topologies: ['single'],
  // SIGINT is PostgreSQL's fast shutdown: it ends sessions and writes a checkpoint.
  stop: { signal: 'SIGINT', timeoutMs: 30_000 },
  readyTimeoutMs: 180_000,
  // After a kill, old backends hold the shared memory until they notice.
  transientFailure: /pre-existing shared memory block|lock file "postmaster.pid" already exists/u,

  async needs() {
    if (existsSync(postgresProgram('postgres')) && existsSync(postgresProgram('psql'))) return [];
    return [{ kind: 'packages', from: 'release', packages: ['postgresql-15', 'postgresql-client-15'] }];
  },

  nodes(site) {
    return [{ name: 'postgres', index: 0, ports: { client: site.portBase } }];
  },

  async configure({ site }, node, note) {
    const home = homeOf(site, node);
    const giveToServerUser = await postgresOwner(site.isRoot);
    giveToServerUser(home);
    const config = path.join(home, 'postgresql.conf');
    const secure = await secureFiles(site, home, giveToServerUser);
    writeFileSync(config, renderPostgresConf(node.ports['client'] ?? 0, secure));
    // The umask of root might hide new files from user postgres.
    chmodSync(config, 0o644);
    if (!existsSync(path.join(home, 'data'))) {
      note('initialising the database folder');
      await initialise(site, home, giveToServerUser);
    }
    removeStalePidFile(path.join(home, 'data'));
  },

  start({ site }, node) {
    const home = knownHome(site, node.name);
    const config = `config_file=${path.join(home, 'postgresql.conf')}`;
    return postgresCommand('postgres', ['-D', path.join(home, 'data'), '-c', config], site);
  },

  async form(group) {
    const { site } = group;
    const node = onlyNode(group);
    const known = await query(
      site,
      node,
      'postgres',
      `select 1 from pg_database where datname = '${database}'`,
    );
    if (known === '') await query(site, node, 'postgres', `create database ${database}`);
    if (site.secure === true) await query(site, node, 'postgres', createLoginsSql(postgresLogins(site)));
  },

  async ready({ site }, node) {
    const folder = await query(site, node, database, "select current_setting('data_directory')");
    const own = path.join(knownHome(site, node.name), 'data');
    if (folder !== own) throw new Error(`the server on this port keeps its data in ${folder}, not ${own}`);
  },

  endpoints(group) {
    const { site } = group;
    const place = `127.0.0.1:${onlyNode(group).ports['client']}/${database}`;
    if (site.secure !== true) return { postgresUrl: `postgres://${user}@${place}` };
    const parameters = `sslmode=verify-full&sslrootcert=${encodeURIComponent(caFile(site))}`;
    return { postgresUrl: `postgres://${user}:${superuserPassword(site)}@${place}?${parameters}` };
  },
  async reloadCertificate({ site }, node) {
    const giveToServerUser = await postgresOwner(site.isRoot);
    giveToServerUser(path.join(knownHome(site, node.name), 'server.key'));
    await query(site, node, 'postgres', 'select pg_reload_conf()');
  },
  secureEndpoints({ site }) {
    return { postgres: postgresLogins(site) };
  },
};
