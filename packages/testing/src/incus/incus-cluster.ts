import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { down, ensureUp, withLock, type IncusClusterEndpoints } from '@millrace/services';
import { isAlive } from '../names.ts';

// Most runs need no fleet, and three daemons are not for nothing: the cluster is started by the first test file that asks
// for it, kept for all that come after, and taken down at the end of the run. Runs side by side share one. It has a state
// folder of its own, so that a developer's engines neither change their topology nor are stopped.

const repositoryRoot = fileURLToPath(new URL('../../../../', import.meta.url));

/** Short, because Incus puts sockets with long names below it, and the same for every run of this checkout. */
const folder = path.join(
  tmpdir(),
  `mr-fleet-${createHash('sha256').update(repositoryRoot).digest('hex').slice(0, 8)}`,
);
const stateDir = path.join(folder, 'state');
const usersDir = path.join(folder, 'users');

/**
 * Three Incus hosts with simulated GPUs, shared by all test files: name what you make so that no other file can mean it,
 * and remove it. A test that kills a host's daemon starts a cluster of its own.
 */
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

/** The process that lives as long as the run: vitest itself if this is one of its workers, otherwise this one. */
function runOf(pid: number, parent: number): number {
  return readFileSync(`/proc/${parent}/cmdline`, 'utf8').includes('vitest') ? parent : pid;
}

/**
 * Ends this run's use of the cluster, and the cluster with it when no other run is left. Also clears away one that was
 * left by runs that were killed.
 */
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
