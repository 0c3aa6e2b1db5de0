import { readdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import path from 'node:path';

const root = '/sys/fs/cgroup';

/** The cgroups that a container has, seen from one of its processes, as paths below any hierarchy. */
export function containerCgroups(text: string): string[] {
  const paths = text.split('\n').flatMap((line) => {
    const [, found] = /^\d+:[^:]*:(\/(?:.*\/)?lxc\.(?:payload|monitor)\.[^/]+)/u.exec(line) ?? [];
    return found === undefined ? [] : [found];
  });
  return [...new Set(paths)];
}

export function cgroupsOf(pid: number): string[] {
  try {
    return containerCgroups(readFileSync(`/proc/${pid}/cgroup`, 'utf8'));
  } catch {
    return [];
  }
}

/** Removes what killed containers leave behind. The kernel refuses to remove one with processes in it. */
export function removeCgroups(cgroups: readonly string[]): void {
  const hierarchies = [root, ...subfolders(root)];
  for (const hierarchy of hierarchies) for (const cgroup of cgroups) removeTree(path.join(hierarchy, cgroup));
}

function removeTree(folder: string): void {
  for (const below of subfolders(folder)) removeTree(below);
  try {
    rmdirSync(folder);
  } catch {
    // Gone already, never there, or in use: then it is not ours to remove.
  }
}

function subfolders(folder: string): string[] {
  try {
    return readdirSync(folder)
      .map((name) => path.join(folder, name))
      .filter((below) => statSync(below).isDirectory());
  } catch {
    return [];
  }
}
