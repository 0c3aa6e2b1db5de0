import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Which cores serve and which make load. Without this split a load generator slows what it measures. */
export interface CorePlan {
  readonly server: readonly number[];
  readonly load: readonly number[];
}

/** `0-2,5` → 0, 1, 2, 5: the kernel's way of writing a set of cores. */
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

/** The first half serves; on one core there is nothing to split. */
export function planCores(allowed: readonly number[]): CorePlan | null {
  if (allowed.length < 2) return null;
  const half = Math.floor(allowed.length / 2);
  return { server: allowed.slice(0, half), load: allowed.slice(half) };
}

export interface Pinning {
  readonly plan: CorePlan | null;
  /** Moves a running server to the server cores until `release`. */
  pinServer(pid: number): void;
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

/** Pins this process to the load cores. Where that is not possible the bench runs unpinned, and says so. */
export function pinThisProcess(): Pinning {
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
    // No /proc, no taskset, or not allowed: the figures are then from shared cores.
    plan = null;
  }
  return {
    plan,
    pinServer(pid) {
      if (plan) move(pid, plan.server);
    },
    release() {
      for (const { pid, before } of moved.toReversed()) {
        try {
          setCores(pid, before);
        } catch {
          // A server that has ended needs no cores back.
        }
      }
    },
  };
}
