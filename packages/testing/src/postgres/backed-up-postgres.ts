import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { ensureUp, killNode, postgresOwner, startNode, stopNode } from '@millrace/services';
import { eventually } from '../time/eventually.ts';
import { systemClock } from '@millrace/platform/clock';
import { Client } from 'pg';

/** A private PostgreSQL whose WAL and backups pgBackRest stores, with the settings in `deploy/pgbackrest`. */
export interface BackedUpPostgres {
  readonly url: string;
  readonly dataFolder: string;
  /** The configuration of pgBackRest, for `millrace-admin restore-check`. */
  readonly configFile: string;
  backUp(): Promise<void>;
  /** A time to restore to, after all commits so far. */
  takeTarget(): Promise<string>;
  /** Resolves when the repository has all WAL so far. */
  archiveAll(): Promise<void>;
  /** Kills the server with signal 9 and deletes its data folder. */
  lose(): Promise<void>;
  /** Restores the newest backup before the target, and recovers up to the target. */
  restore(target: string): Promise<void>;
}

const run = promisify(execFile);
const patient = { timeoutMs: 300_000, intervalMs: 100 } as const;
const isRoot = process.getuid?.() === 0;
const STANZA = 'millrace';

/** pgBackRest reads the files of the server, so it runs as the server's user. */
async function runAsServer(program: string, args: readonly string[]): Promise<string> {
  const asUser = isRoot ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'] : [];
  const [file = program, ...rest] = [...asUser, program, ...args];
  return (await run(file, rest, { cwd: '/', maxBuffer: 16 * 1_048_576 })).stdout;
}

export async function queryServer(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // The server ends its connections when it is stopped.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end().catch(() => undefined);
  }
}

const shippedSettings = path.join(import.meta.dirname, '../../../../deploy/pgbackrest/pgbackrest.conf');

/** The shipped settings, with the folders of this test. */
function settingsOf(
  folders: Readonly<Record<'data' | 'repository' | 'socket' | 'log' | 'lock' | 'spool', string>>,
  port: string,
): string {
  const replaced = new Map([
    ['repo1-path', folders.repository],
    ['repo1-cipher-pass', randomBytes(48).toString('base64')],
    ['pg1-path', folders.data],
  ]);
  const lines = readFileSync(shippedSettings, 'utf8')
    .split('\n')
    .map((line) => {
      const name = line.split('=')[0] ?? '';
      const value = replaced.get(name);
      replaced.delete(name);
      return value === undefined ? line : `${name}=${value}`;
    });
  if (replaced.size > 0) throw new Error(`The settings lack ${[...replaced.keys()].join(', ')}.`);
  const places = (['log', 'lock', 'spool'] as const).map((kind) => `${kind}-path=${folders[kind]}`);
  const text = lines.join('\n').replace('[global]', ['[global]', ...places].join('\n'));
  return `${text}\npg1-socket-path=${folders.socket}\npg1-port=${port}\npg1-user=millrace\n`;
}

export async function startBackedUpPostgres(folder: string): Promise<BackedUpPostgres> {
  const place = { stateDir: path.join(folder, 'postgres'), portBase: 'auto' } as const;
  const { postgresUrl: url } = await ensureUp(['postgres'], place);
  const node = { stateDir: place.stateDir };
  const [found] = await queryServer(url, "select current_setting('data_directory') as data");
  const data = String(found?.['data']);
  const give = await postgresOwner();
  const makeFolder = (name: string): string => {
    const made = path.join(folder, name);
    mkdirSync(made, { mode: 0o700 });
    give(made);
    return made;
  };
  const socket = makeFolder('socket');
  const folders = { data, socket, repository: makeFolder('repository') };
  const scratch = { log: makeFolder('log'), lock: makeFolder('lock'), spool: makeFolder('spool') };
  const configFile = path.join(folder, 'pgbackrest.conf');
  writeFileSync(configFile, settingsOf({ ...folders, ...scratch }, new URL(url).port), { mode: 0o600 });
  give(configFile);
  const pgBackRest = (...args: readonly string[]): Promise<string> =>
    runAsServer('pgbackrest', [`--config=${configFile}`, `--stanza=${STANZA}`, ...args]);

  await queryServer(url, `alter system set unix_socket_directories = '${socket}'`);
  await queryServer(url, "alter system set archive_mode = 'on'");
  await queryServer(
    url,
    `alter system set archive_command = 'pgbackrest --config=${configFile} --stanza=${STANZA} archive-push %p'`,
  );
  await stopNode('postgres', node);
  await startNode('postgres', node);
  await pgBackRest('stanza-create');
  await pgBackRest('check');

  return {
    url,
    dataFolder: data,
    configFile,
    async backUp() {
      await pgBackRest('--type=full', 'backup');
      // pgBackRest knows the end of a backup to the second, and restores no target within that second.
      const ended = systemClock.nowMs();
      await eventually(
        { what: 'the second after the end of the backup', ...patient },
        () => Math.floor(systemClock.nowMs() / 1_000) > Math.floor(ended / 1_000) + 1,
      );
    },
    async takeTarget() {
      const [row] = await queryServer(url, 'select clock_timestamp()::text as now');
      return String(row?.['now']);
    },
    async archiveAll() {
      const [last] = await queryServer(url, 'select pg_walfile_name(pg_current_wal_lsn()) as file');
      await queryServer(url, 'select pg_switch_wal()');
      await eventually({ what: 'the repository to have all WAL', ...patient }, async () => {
        const [row] = await queryServer(
          url,
          `select last_archived_wal >= '${String(last?.['file'])}' as archived from pg_stat_archiver`,
        );
        return row?.['archived'] === true;
      });
    },
    async lose() {
      await killNode('postgres', node);
      rmSync(data, { recursive: true });
    },
    async restore(target) {
      if (existsSync(data)) throw new Error('The data folder of the lost server exists.');
      mkdirSync(data, { mode: 0o700 });
      give(data);
      await pgBackRest('--type=time', `--target=${target}`, '--target-action=promote', 'restore');
      chmodSync(data, 0o700);
      await startNode('postgres', node);
      await eventually({ what: 'PostgreSQL to finish its recovery', ...patient }, async () => {
        const [response] = await queryServer(url, 'select pg_is_in_recovery() as recovering');
        return response?.['recovering'] === false;
      });
    },
  };
}
