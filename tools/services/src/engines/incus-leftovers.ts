import { existsSync, readdirSync, readFileSync } from 'node:fs';

import { Failure } from '../failure.ts';
import { allPids, commandLine, identify, parentOf, run, signal } from '../processes.ts';
import { eventually } from '../time.ts';
import { cgroupsOf, removeCgroups } from './incus-cgroups.ts';

/** Whether a command line belongs to a process that this daemon started, and not to one that reads its files. */
export function isDaemonChild(command: string, dir: string): boolean {
  return /^(?:\S*\/)?(?:dnsmasq|incusd|\[lxc monitor\]) /u.test(command) && command.includes(`${dir}/`);
}

/** Kills processes that outlive a killed daemon, and returns the cgroups of the killed containers. */
function killLeftovers(dir: string): string[] {
  const pids = allPids();
  const named = new Set(pids.filter((pid) => isDaemonChild(commandLine(pid), dir)));
  const children = pids.filter((pid) => named.has(parentOf(pid) ?? 0) && !named.has(pid));
  const victims = [...children, ...named];
  const cgroups = victims.flatMap(cgroupsOf);
  for (const pid of victims) {
    const identity = identify(pid);
    if (identity !== null) signal(identity, 'SIGKILL');
  }
  return [...new Set(cgroups)];
}

function interfacesOn(bridge: string): string[] {
  const folder = `/sys/class/net/${bridge}/brif`;
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** Mount points at or below a folder, deepest first, from the text of /proc/self/mountinfo. */
export function mountsBelow(mountinfo: string, folder: string): string[] {
  return mountinfo
    .split('\n')
    .map((line) => (line.split(' ')[4] ?? '').replaceAll(String.raw`\040`, ' '))
    .filter((point) => point === folder || point.startsWith(`${folder}/`))
    .toReversed();
}

/** Removes the bridge with its attached interfaces and firewall rules. */
export async function removeBridge(bridge: string): Promise<void> {
  // When a container is killed, its interface returns to the host while the peer stays on the bridge.
  for (const card of interfacesOn(bridge)) await run('ip', ['link', 'delete', card]);
  await run('ip', ['link', 'delete', bridge]);
  for (const chain of ['in', 'out', 'fwd', 'pstrt']) {
    await run('nft', ['delete', 'chain', 'inet', 'incus', `${chain}.${bridge}`]);
  }
}

/** Removes processes, mounts, bridge and cgroups of a daemon that runs in this machine's namespaces. */
export async function removeDaemonLeftovers(dir: string, bridge: string): Promise<void> {
  const cgroups = killLeftovers(dir);
  await removeBridge(bridge);
  await eventually({ timeoutMs: 10_000, intervalMs: 200 }, async () => {
    for (const point of mountsBelow(readFileSync('/proc/self/mountinfo', 'utf8'), dir)) {
      await run('umount', [point]);
    }
    const left = mountsBelow(readFileSync('/proc/self/mountinfo', 'utf8'), dir);
    if (left.length > 0) {
      throw new Failure(
        `${left[0]} could not be unmounted.`,
        'A process still uses it. Find it with `fuser -m`.',
      );
    }
  });
  removeCgroups(cgroups);
}
