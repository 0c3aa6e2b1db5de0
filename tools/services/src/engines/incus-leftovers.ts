import { existsSync, readdirSync, readFileSync } from 'node:fs';

import { Failure } from '../failure.ts';
import { allPids, commandLine, identify, parentOf, run, signal } from '../processes.ts';
import { eventually } from '../time.ts';
import { cgroupsOf, removeCgroups } from './incus-cgroups.ts';

/** Whether a command line is of a process that this daemon started, and not of somebody looking at its files. */
export function isDaemonChild(command: string, dir: string): boolean {
  return /^(?:\S*\/)?(?:dnsmasq|incusd|\[lxc monitor\]) /u.test(command) && command.includes(`${dir}/`);
}

/**
 * DHCP servers and container monitors outlive a killed daemon; a container's first process is a monitor's child.
 * Returns the cgroups that the killed containers leave behind.
 */
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

/** The bridge with the cards that hang on it and its rules in the firewall. */
export async function removeBridge(bridge: string): Promise<void> {
  // A killed container gives its card back to the host; the other end still hangs on the bridge.
  for (const card of interfacesOn(bridge)) await run('ip', ['link', 'delete', card]);
  await run('ip', ['link', 'delete', bridge]);
  for (const chain of ['in', 'out', 'fwd', 'pstrt']) {
    await run('nft', ['delete', 'chain', 'inet', 'incus', `${chain}.${bridge}`]);
  }
}

/** What a daemon in this machine's own namespaces leaves: little after a clean stop, a lot after a kill. */
export async function removeDaemonLeftovers(dir: string, bridge: string): Promise<void> {
  const cgroups = killLeftovers(dir);
  await removeBridge(bridge);
  await eventually({ timeoutMs: 10_000, intervalMs: 200 }, async () => {
    for (const point of mountsBelow(readFileSync('/proc/self/mountinfo', 'utf8'), dir)) {
      await run('umount', [point]);
    }
    const left = mountsBelow(readFileSync('/proc/self/mountinfo', 'utf8'), dir);
    if (left.length > 0) {
      throw new Failure(`${left[0]} could not be unmounted.`, 'Something still uses it; see `fuser -m`.');
    }
  });
  removeCgroups(cgroups);
}
