import { readdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import path from 'node:path';

const root = '/sys/fs/cgroup';

/** Cgroup paths of a container, from the /proc/PID/cgroup text of one of its processes. */
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

/** Removes cgroups of killed containers. The kernel refuses to remove a cgroup that has processes. */
export function removeCgroups(cgroups: readonly string[]): void {
  const hierarchies = [root, ...subfolders(root)];
  for (const hierarchy of hierarchies) for (const cgroup of cgroups) removeTree(path.join(hierarchy, cgroup));
}

function removeTree(folder: string): void {
  for (const below of subfolders(folder)) removeTree(below);
  try {
    rmdirSync(folder);
  } catch {
    // Removed already, never created, or still in use by other processes.
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
