import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { processorUs } from './process-use.ts';

/** Separate cores for servers and load, because a load generator on the same core slows the server that it measures. */
export interface CorePlan {
  readonly server: readonly number[];
  readonly load: readonly number[];
}

/** Parses the kernel's format of a set of cores: `0-2,5` is 0, 1, 2, 5. */
export function parseCoreList(text: string): number[] {
  return text
    .trim()
    .split(',')
    .flatMap((part) => {
      const [first = Number.NaN, last = first] = part.split('-').map(Number);
      if (!Number.isInteger(first) || !Number.isInteger(last)) return [];
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

export function planCores(allowed: readonly number[]): CorePlan | null {
  if (allowed.length < 2) return null;
  const half = Math.floor(allowed.length / 2);
  return { server: allowed.slice(0, half), load: allowed.slice(half) };
}

export interface Pinning {
  readonly plan: CorePlan | null;
  /** Pins a running server to the server cores until `release`. */
  pinServer(pid: number): void;
  /** Processor time so far, in microseconds, of all pinned servers or of the given ones. */
  serverCpuUs(pids: readonly number[] | null): number;
  release(): void;
}

function allowedCores(pid: number | 'self'): number[] {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return parseCoreList(/^Cpus_allowed_list:\s*(.+)$/m.exec(status)?.[1] ?? '');
}

function setCores(pid: number, cores: readonly number[]): void {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores.join(','), String(pid)], {
    stdio: 'ignore',
  });
}

/** Pins this process to the load cores. If that is not possible, the bench runs unpinned and prints it. */
export function pinThisProcess(): Pinning {
  const servers: number[] = [];
  const moved: { pid: number; before: readonly number[] }[] = [];
  const move = (pid: number, cores: readonly number[]): void => {
    const before = allowedCores(pid);
    setCores(pid, cores);
    moved.push({ pid, before });
  };
  let plan: CorePlan | null = null;
  try {
    plan = planCores(allowedCores('self'));
    if (plan) move(process.pid, plan.load);
  } catch {
    // No /proc, no taskset or no permission: the figures then come from shared cores.
    plan = null;
  }
  return {
    plan,
    pinServer(pid) {
      servers.push(pid);
      if (plan) move(pid, plan.server);
    },
    serverCpuUs: (pids) => (pids ?? servers).reduce((sum, pid) => sum + processorUs(pid), 0),
    release() {
      for (const { pid, before } of moved.toReversed()) {
        try {
          setCores(pid, before);
        } catch {
          // The server has ended.
        }
      }
    },
  };
}
