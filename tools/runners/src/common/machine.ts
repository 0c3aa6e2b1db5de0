import { execFileSync } from 'node:child_process';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';

/** What a figure was measured on. Without it a figure means nothing to the next reader. */
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
  /** Files that differ from the commit, so that the commit alone does not say what ran. */
  readonly changedFiles: readonly string[];
}

export function describeRevision(root: string): Revision {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  return {
    commit: git('rev-parse', '--short=12', 'HEAD').trim(),
    changedFiles: parseStatus(git('status', '--porcelain')),
  };
}

/** Each line of `git status --porcelain` is two letters of state, a space, and the file; a state may be a space. */
export function parseStatus(porcelain: string): string[] {
  const lines = porcelain.split('\n').filter((line) => line !== '');
  return lines.map((line) => line.slice(3));
}
