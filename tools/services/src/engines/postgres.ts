import { chmodSync, chownSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Engine, Group, Launch, NodeSpec } from '../engine.ts';
import { commandLine, runOrThrow, run } from '../processes.ts';
import { isTraversableByAll, knownHome, nodeHome, type Site } from '../site.ts';

const user = 'millrace';
const database = 'millrace';
const versions = ['15', '16', '17', '18'];

function binFolder(): string {
  const folders = versions.map((version) => `/usr/lib/postgresql/${version}/bin`);
  const [preferred] = folders;
  if (preferred === undefined) throw new Error('no version of PostgreSQL is known');
  return folders.find((folder) => existsSync(path.join(folder, 'postgres'))) ?? preferred;
}

function binary(name: string): string {
  return path.join(binFolder(), name);
}

/** PostgreSQL refuses to run as root, so root switches to the user of its package. */
function asServerUser(site: Site, file: string, args: readonly string[]): Launch {
  if (!site.isRoot) return { file, args };
  return { file: 'setpriv', args: ['--reuid=postgres', '--regid=postgres', '--init-groups', file, ...args] };
}

/** User postgres cannot enter a checkout below /root or in another private folder. */
function homeOf(site: Site, node: NodeSpec): string {
  return nodeHome(site, node.name, (folder) => !site.isRoot || isTraversableByAll(folder));
}

export function renderPostgresConf(port: number): string {
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
    '',
  ].join('\n');
}

/** `initdb` writes to a draft folder that is renamed when complete, so a crash leaves all or nothing. */
async function initialise(site: Site, home: string): Promise<void> {
  const data = path.join(home, 'data');
  const draft = path.join(home, 'data.new');
  rmSync(draft, { recursive: true, force: true });
  const options = ['-U', user, '--auth=trust', '--no-locale', '-E', 'UTF8', '--data-checksums'];
  const { file, args } = asServerUser(site, binary('initdb'), ['-D', draft, ...options]);
  await runOrThrow(file, args, { timeoutMs: 120_000, cwd: '/' });
  renameSync(draft, data);
}

/** A stale pid file blocks the start if its pid now belongs to another process of the same user. */
function removeStalePidFile(data: string): void {
  const file = path.join(data, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (!commandLine(pid).includes(data)) rmSync(file);
}

async function query(node: NodeSpec, on: string, sql: string): Promise<string> {
  const connection = ['-h', '127.0.0.1', '-p', String(node.ports['client']), '-U', user, '-d', on];
  const finished = await run(binary('psql'), [...connection, '-XAtqc', sql], { timeoutMs: 5000, cwd: '/' });
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
    if (existsSync(binary('postgres')) && existsSync(binary('psql'))) return [];
    return [{ kind: 'packages', from: 'release', packages: ['postgresql-15', 'postgresql-client-15'] }];
  },

  nodes(site) {
    return [{ name: 'postgres', index: 0, ports: { client: site.portBase } }];
  },

  async configure({ site }, node, note) {
    const home = homeOf(site, node);
    if (site.isRoot) {
      const [uid, gid] = await Promise.all(
        ['-u', '-g'].map(async (flag) => Number(await runOrThrow('id', [flag, 'postgres']))),
      );
      if (uid === undefined || gid === undefined) throw new Error('user postgres has no ids');
      chownSync(home, uid, gid);
    }
    const config = path.join(home, 'postgresql.conf');
    writeFileSync(config, renderPostgresConf(node.ports['client'] ?? 0));
    // The umask of root might hide new files from user postgres.
    chmodSync(config, 0o644);
    if (!existsSync(path.join(home, 'data'))) {
      note('initialising the database folder');
      await initialise(site, home);
    }
    removeStalePidFile(path.join(home, 'data'));
  },

  start({ site }, node) {
    const home = knownHome(site, node.name);
    const config = `config_file=${path.join(home, 'postgresql.conf')}`;
    return asServerUser(site, binary('postgres'), ['-D', path.join(home, 'data'), '-c', config]);
  },

  async form(group) {
    const node = onlyNode(group);
    const known = await query(node, 'postgres', `select 1 from pg_database where datname = '${database}'`);
    if (known === '') await query(node, 'postgres', `create database ${database}`);
  },

  async ready({ site }, node) {
    const folder = await query(node, database, "select current_setting('data_directory')");
    const own = path.join(knownHome(site, node.name), 'data');
    if (folder !== own) throw new Error(`the server on this port keeps its data in ${folder}, not ${own}`);
  },

  endpoints(group) {
    const port = onlyNode(group).ports['client'];
    return { postgresUrl: `postgres://${user}@127.0.0.1:${port}/${database}` };
  },
};
