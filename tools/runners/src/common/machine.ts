import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';

/** The machine of a measurement, without which figures cannot be compared. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly node: string;
}

export function describeMachine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release().split('-')[0] ?? ''}`.trim(),
    node: process.versions.node,
  };
}

export function machineLine({ cpu, cores, memoryGib, system, node }: Machine): string {
  return `${cores} × ${cpu}, ${memoryGib} GiB, ${system}, Node ${node}`;
}

export interface Revision {
  readonly commit: string;
  /** Files that differ from the commit, which then does not identify the code. */
  readonly changedFiles: readonly string[];
}

export function describeRevision(root: string): Revision {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  return {
    commit: git('rev-parse', '--short=12', 'HEAD').trim(),
    changedFiles: parseStatus(git('status', '--porcelain')),
  };
}

/** A line of `git status --porcelain` is two characters of state, a space, and the file. */
export function parseStatus(porcelain: string): string[] {
  const lines = porcelain.split('\n').filter((line) => line !== '');
  return lines.map((line) => line.slice(3));
}
