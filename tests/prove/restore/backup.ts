import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { ensureUp, startNode, stopNode } from '@millrace/services';
import { eventually } from '@millrace/testing';
import { Client } from 'pg';

/** A private PostgreSQL that archives its WAL, with a base backup and a restore to a named point. */
export interface BackedUpPostgres {
  readonly url: string;
  backUp(): Promise<void>;
  /** Stops the server, replaces its data by the base backup and recovers up to the point. */
  restore(): Promise<void>;
}

const run = promisify(execFile);
const POINT = 'before_the_loss';
const patient = { timeoutMs: 300_000, intervalMs: 100 } as const;

function binary(name: string): string {
  const folders = ['15', '16', '17', '18'].map((version) => `/usr/lib/postgresql/${version}/bin`);
  return path.join(folders.find((folder) => existsSync(path.join(folder, name))) ?? '', name);
}

async function query(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

export async function startBackedUpPostgres(folder: string): Promise<BackedUpPostgres> {
  const place = { stateDir: path.join(folder, 'postgres'), portBase: 'auto' } as const;
  const { postgresUrl: url } = await ensureUp(['postgres'], place);
  const node = { stateDir: place.stateDir };
  const [found] = await query(url, "select current_setting('data_directory') as data");
  const data = String(found?.['data']);
  const archive = path.join(folder, 'archive');
  const backup = path.join(folder, 'backup');
  mkdirSync(archive);
  const isRoot = process.getuid?.() === 0;
  const own = async (target: string): Promise<void> => {
    if (isRoot) await run('chown', ['-R', 'postgres:postgres', target]);
  };
  await own(archive);
  await query(url, `alter system set archive_mode = 'on'`);
  await query(url, `alter system set archive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f'`);
  await stopNode('postgres', node);
  await startNode('postgres', node);

  let restores = 0;

  /** Resolves when all WAL so far is in the archive. */
  async function archiveAll(): Promise<void> {
    const [last] = await query(url, 'select pg_walfile_name(pg_current_wal_lsn()) as file');
    await query(url, 'select pg_switch_wal()');
    const file = path.join(archive, String(last?.['file']));
    await eventually({ what: 'PostgreSQL to archive its WAL', ...patient }, () => existsSync(file));
  }

  return {
    url,
    async backUp() {
      const { hostname, port, username } = new URL(url);
      const server = ['-h', hostname, '-p', port, '-U', username];
      await run(binary('pg_basebackup'), [...server, '-D', backup, '-X', 'stream', '-c', 'fast']);
      await query(url, `select pg_create_restore_point('${POINT}')`);
    },
    async restore() {
      restores += 1;
      // A restored server archives nothing, so a second restore uses the same WAL and point.
      if (restores === 1) await archiveAll();
      await stopNode('postgres', node);
      renameSync(data, `${data}.lost-${restores}`);
      cpSync(backup, data, { recursive: true });
      const settings = [
        `restore_command = 'cp ${archive}/%f %p'`,
        `recovery_target_name = '${POINT}'`,
        `recovery_target_action = 'promote'`,
        // Do not mix WAL of the new timeline with that of the lost one.
        `archive_mode = 'off'`,
        '',
      ].join('\n');
      writeFileSync(path.join(data, 'postgresql.auto.conf'), settings);
      writeFileSync(path.join(data, 'recovery.signal'), '');
      await run('chmod', ['-R', 'go-rwx', data]);
      await own(data);
      await startNode('postgres', node);
      await eventually({ what: 'PostgreSQL to finish its recovery', ...patient }, async () => {
        const [response] = await query(url, 'select pg_is_in_recovery() as recovering');
        return response?.['recovering'] === false;
      });
    },
  };
}
