import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { ProofRun } from '@millrace/runners';
import { down } from '@millrace/services';
import { queryServer, startBackedUpPostgres, type BackedUpPostgres } from '@millrace/testing';
import { systemClock } from '@millrace/platform/clock';

/** Measures the backup and the recovery of a large database, and a copy of the same files in the same run. */

const run = promisify(execFile);

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  await work();
  return Math.round((systemClock.monotonicMs() - startedMs) / 100) / 10;
}

const ROWS = 2_000_000;
/** The rest is the index. */
const TABLE_SHARE = 0.85;

/** About 250 bytes each, with random values as in ledger rows, so that they compress like them. */
const addRows = (postgres: BackedUpPostgres, count: number) =>
  queryServer(
    postgres.url,
    `insert into charges
     select gen_random_uuid(), gen_random_uuid(), (random() * 1e9)::bigint, clock_timestamp(), md5(random()::text),
            'Inference of a model, charged by the token, ' || (random() * 1e6)::int
       from generate_series(1, ${count})`,
  );

async function sizeOf(postgres: BackedUpPostgres): Promise<number> {
  const [row] = await queryServer(
    postgres.url,
    'select pg_database_size(current_database())::float8 as bytes',
  );
  return Number(row?.['bytes']);
}

/** The WAL before the backup is not needed, and the index is built at the end: both would take most of the time. */
async function fill(postgres: BackedUpPostgres, bytes: number): Promise<void> {
  const { url } = postgres;
  const [setting] = await queryServer(url, 'show archive_command');
  await setArchiveCommand(url, '/bin/true');
  await queryServer(
    url,
    'create table charges (id uuid, org_id uuid, amount bigint, at timestamptz, key text, description text)',
  );
  while ((await sizeOf(postgres)) < bytes * TABLE_SHARE) await addRows(postgres, ROWS);
  await queryServer(url, 'alter table charges add primary key (id)');
  await setArchiveCommand(url, String(setting?.['archive_command']));
}

async function setArchiveCommand(url: string, command: string): Promise<void> {
  await queryServer(url, `alter system set archive_command = '${command.replaceAll("'", "''")}'`);
  await queryServer(url, 'select pg_reload_conf()');
}

export async function measureLargeRestore(proof: ProofRun, bytes: number): Promise<Record<string, string>> {
  const folder = mkdtempSync(path.join(tmpdir(), 'mr-'));
  chmodSync(folder, 0o755);
  try {
    const postgres = await startBackedUpPostgres(folder);
    await fill(postgres, bytes);
    await postgres.archiveAll();
    const size = await sizeOf(postgres);
    const backup = await secondsOf(() => postgres.backUp());
    await addRows(postgres, 10_000);
    const [count] = await queryServer(postgres.url, 'select count(*)::float8 as rows from charges');
    const target = await postgres.takeTarget();
    await addRows(postgres, 10_000);
    await postgres.archiveAll();
    await queryServer(postgres.url, 'checkpoint');
    const copy = await secondsOf(async () => {
      await run('cp', ['-a', postgres.dataFolder, path.join(folder, 'copy')]);
      await run('sync', ['-f', path.join(folder, 'copy')]);
    });
    rmSync(path.join(folder, 'copy'), { recursive: true });
    await postgres.lose();
    const restore = await secondsOf(() => postgres.restore(target));
    const [restored] = await queryServer(postgres.url, 'select count(*)::float8 as rows from charges');
    if (restored?.['rows'] !== count?.['rows']) {
      throw new Error(
        `The restored database has ${String(restored?.['rows'])} rows, not ${String(count?.['rows'])}.`,
      );
    }
    proof.note(`large database: ${size} bytes, ${String(count?.['rows'])} rows`);
    return {
      'large database: size': `${Math.round(size / 1e7) / 100} GB`,
      'large database: full backup': `${backup} s`,
      'large database: restore to T, until PostgreSQL accepts writes': `${restore} s`,
      'large database: copy of the same folder with cp, for comparison': `${copy} s`,
    };
  } finally {
    await down([], { stateDir: path.join(folder, 'postgres'), purge: true });
    rmSync(folder, { recursive: true, force: true });
  }
}
