import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { down, ensureUp, withLock, type IncusClusterEndpoints } from '@millrace/services';
import { isAlive } from '../names.ts';

// Most runs need no Incus cluster, and three daemons are expensive: the first test file that needs the cluster starts
// it, later files share it, and the end of the run stops it. Concurrent runs share one. It has its own state folder, so
// that it does not change or stop a developer's engines.

const repositoryRoot = fileURLToPath(new URL('../../../../', import.meta.url));

/** Short, because Incus creates sockets with long names below it, and the same for every run of this checkout. */
const folder = path.join(
  tmpdir(),
  `mr-fleet-${createHash('sha256').update(repositoryRoot).digest('hex').slice(0, 8)}`,
);
const stateDir = path.join(folder, 'state');
const usersDir = path.join(folder, 'users');

/** Three Incus hosts shared by all test files: use unique names, and delete your objects. Do not kill daemons. */
export async function useIncusCluster(): Promise<IncusClusterEndpoints> {
  mkdirSync(usersDir, { recursive: true });
  chmodSync(folder, 0o755);
  return withLock(
    path.join(folder, 'lock'),
    () => {},
    async () => {
      writeFileSync(path.join(usersDir, String(runOf(process.pid, process.ppid))), '');
      const { incusCluster } = await ensureUp(['incus'], {
        stateDir,
        portBase: 'auto',
        topology: 'cluster',
        databaseInMemory: true,
      });
      if (incusCluster === undefined) throw new Error('Incus is up, but its cluster has no endpoints.');
      return incusCluster;
    },
  );
}

/** The process that lasts as long as the run: vitest if this is one of its workers, otherwise this process. */
function runOf(pid: number, parent: number): number {
  return readFileSync(`/proc/${parent}/cmdline`, 'utf8').includes('vitest') ? parent : pid;
}

/** Ends this run's use, and stops the cluster if no other run uses it. Also removes one of killed runs. */
export async function releaseIncusCluster(): Promise<void> {
  if (!existsSync(usersDir)) return;
  await withLock(
    path.join(folder, 'lock'),
    () => {},
    async () => {
      for (const user of readdirSync(usersDir)) {
        const pid = Number(user);
        if (pid === process.pid || !isAlive(pid)) rmSync(path.join(usersDir, user));
      }
      if (readdirSync(usersDir).length === 0) await down([], { stateDir, purge: true });
    },
  );
}
