import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import path from 'node:path';

import type { NodeSpec } from '../engine.ts';
import { Failure } from '../failure.ts';
import {
  allPids,
  commandLine,
  identify,
  isAlive,
  launchDaemon,
  runOrThrow,
  parentOf,
  run,
  signal,
  type ProcessIdentity,
} from '../processes.ts';
import { writeAtomically, type Site } from '../site.ts';
import { eventually } from '../time.ts';
import { cgroupsOf, removeCgroups } from './incus-cgroups.ts';
import { incusFiles } from './incus-files.ts';
import { gpusOf, pciDevices, writeSimulation } from './incus-gpus.ts';
import { isDaemonChild } from './incus-leftovers.ts';

// A cluster member has its own network, hostname, mounts and devices. A sleeping process holds these namespaces, so that they
// outlive the daemon.

/** The bridge between the members and this machine. Concurrent sites have port bases 100 apart. */
export function siteBridge(portBase: number): { readonly bridge: string; readonly prefix: string } {
  // 198.18.0.0/15 is reserved for benchmarks and not routed: 512 networks, one per 64 ports.
  const network = portBase >> 6;
  return { bridge: `mrc${portBase}`, prefix: `198.${18 + (network >> 8)}.${network & 0xff}` };
}

export function memberAddress(portBase: number, node: NodeSpec): string {
  return `${siteBridge(portBase).prefix}.${10 + node.index}`;
}

function vethName(portBase: number, node: NodeSpec): string {
  return `${siteBridge(portBase).bridge}-${node.index}`;
}

interface HostRecord extends ProcessIdentity {
  /** False while the namespaces are being set up. */
  readonly ready: boolean;
}

function readHostRecord(file: string): HostRecord | null {
  if (!existsSync(file)) return null;
  // The tool writes this file atomically, so its shape is known.
  return JSON.parse(readFileSync(file, 'utf8')) as HostRecord;
}

/** The namespace holder of a member, if it is alive and the namespaces are set up. */
export function liveHolder(site: Site, nodeName: string): ProcessIdentity | null {
  const record = readHostRecord(incusFiles(site, nodeName).hostRecord);
  return record !== null && record.ready && isAlive(record) ? record : null;
}

/** Creates the namespaces of a member unless they exist. Leftovers of a killed attempt are removed first. */
export async function ensureHost(site: Site, node: NodeSpec): Promise<void> {
  if (liveHolder(site, node.name) !== null) return;
  await clearHost(site, node);
  const { home, hostRecord, simulation } = incusFiles(site, node.name);
  writeSimulation(simulation, gpusOf(site.portBase, node.name));
  const holder = await launchNamespaceHolder(home);
  const remember = (ready: boolean): void =>
    writeAtomically(hostRecord, `${JSON.stringify({ ...holder, ready })}\n`);
  remember(false);
  await waitForNamespaces(holder);
  await connect(site.portBase, node, holder);
  await setUpNamespaces(site, node, holder);
  remember(true);
}

/** The command line identifies the holder: `sleep infinity` under a name that contains the node's folder. */
function namespaceHolderCommand(home: string): string {
  return `millrace-host ${home}/`;
}

function launchNamespaceHolder(home: string): Promise<ProcessIdentity> {
  const rename = 'exec -a "$0" sleep infinity';
  const spaces = ['--mount', '--net', '--uts', '--propagation', 'private'];
  const launch = { file: 'unshare', args: [...spaces, 'bash', '-c', rename, namespaceHolderCommand(home)] };
  return launchDaemon(launch, path.join(home, 'host.log'));
}

function namespaceOf(pid: number | 'self', kind: 'mnt' | 'net'): string | null {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    return null;
  }
}

/** `unshare` execs the holder a moment after it was started. */
async function waitForNamespaces(holder: ProcessIdentity): Promise<void> {
  const giveUp = (): void => {
    if (!isAlive(holder))
      throw new Failure(
        '`unshare` could not create namespaces.',
        'Run as root outside a container, or with CAP_SYS_ADMIN.',
      );
  };
  await eventually({ timeoutMs: 10_000, intervalMs: 10, giveUp }, async () => {
    if (!commandLine(holder.pid).startsWith('millrace-host ')) throw new Error('not separated yet');
  });
}

/** Connects the member to the bridge of its site with a veth pair. */
async function connect(portBase: number, node: NodeSpec, holder: ProcessIdentity): Promise<void> {
  const { bridge, prefix } = siteBridge(portBase);
  if (!existsSync(`/sys/class/net/${bridge}`))
    await runOrThrow('ip', ['link', 'add', bridge, 'type', 'bridge']);
  await runOrThrow('ip', ['addr', 'replace', `${prefix}.1/24`, 'dev', bridge]);
  await runOrThrow('ip', ['link', 'set', bridge, 'up']);
  const veth = vethName(portBase, node);
  const peer = ['peer', 'name', 'eth0', 'netns', String(holder.pid)];
  await runOrThrow('ip', ['link', 'add', veth, 'type', 'veth', ...peer]);
  await runOrThrow('ip', ['link', 'set', veth, 'master', bridge, 'up']);
}

/**
 * Runs inside the namespaces. Incus finds free loop devices by number, and the kernel would create new ones in the real /dev
 * only.
 * The second sysfs is needed because the kernel lets a container mount one only where a complete one is visible.
 */
const namespaceSetupScript = `set -e
name=$1 address=$2 home=$3 cards=$4 memory=$5
echo "$name" >/proc/sys/kernel/hostname
ip link set lo up
ip addr add "$address/24" dev eth0
ip link set eth0 up

mount --rbind /sys/fs/cgroup "$home/mnt/cgroup"
mount -t sysfs sysfs /sys
mount --move "$home/mnt/cgroup" /sys/fs/cgroup
mount --bind "$home/simulated/pci" ${pciDevices}
mount -t sysfs sysfs "$home/mnt/sys"

dev=$home/mnt/dev
mount -t tmpfs -o mode=755 tmpfs "$dev"
find /dev -maxdepth 1 '(' -type c -o -type b -o -type l ')' ! -name 'nvidia*' -exec cp -a -t "$dev" {} +
mkdir "$dev/pts" "$dev/shm" "$dev/mqueue" "$dev/net"
cp -a /dev/net/tun "$dev/net/"
for number in $(seq 0 127); do [ -e "$dev/loop$number" ] || mknod -m 660 "$dev/loop$number" b 7 "$number"; done
for number in $(seq 0 $((cards - 1))); do mknod -m 666 "$dev/nvidia$number" c 195 "$number"; done
mknod -m 666 "$dev/nvidiactl" c 195 255
mount --rbind /dev/pts "$dev/pts"
mount --rbind /dev/shm "$dev/shm"
mount --move "$dev" /dev

if [ -n "$memory" ]; then
  mkdir -p "$memory"
  mount -t tmpfs -o mode=700 tmpfs "$memory"
fi
`;

async function setUpNamespaces(site: Site, node: NodeSpec, holder: ProcessIdentity): Promise<void> {
  const { home, database } = incusFiles(site, node.name);
  for (const name of ['cgroup', 'dev', 'sys']) mkdirSync(path.join(home, 'mnt', name), { recursive: true });
  const cards = gpusOf(site.portBase, node.name).length;
  const memory = site.databaseInMemory === true ? database : '';
  const words = [node.name, memberAddress(site.portBase, node), home, String(cards), memory];
  await runOrThrow('nsenter', [...enter(holder), 'sh', '-c', namespaceSetupScript, 'sh', ...words]);
}

/** Arguments of `nsenter` to run a command on a member. Without a holder they name no process. */
export function enter(holder: ProcessIdentity | null): string[] {
  return ['-t', String(holder?.pid ?? 0), '-m', '-n', '-u', '--'];
}

/** Kills all processes on a member and removes its veth. The kernel removes the mounts with the last process. */
export async function clearHost(site: Site, node: NodeSpec): Promise<void> {
  const { home, dir, hostRecord } = incusFiles(site, node.name);
  if (!existsSync(home)) return;
  const cgroupsFile = path.join(home, 'cgroups.json');
  await eventually({ timeoutMs: 20_000, intervalMs: 50 }, async () => {
    const processes = namespaceProcesses(rootProcesses(home, dir, readHostRecord(hostRecord)));
    if (processes.length === 0) return;
    // Stored before the kill, because the cgroups of a dead container cannot be found.
    rememberCgroups(cgroupsFile, processes);
    for (const identity of processes) signal(identity, 'SIGKILL');
    throw new Failure(`${node.name} still has ${processes.length} processes.`, 'Read their /proc/PID/stack.');
  });
  removeCgroups(readCgroups(cgroupsFile));
  rmSync(cgroupsFile, { force: true });
  await run('ip', ['link', 'delete', vethName(site.portBase, node)]);
  rmSync(hostRecord, { force: true });
}

function readCgroups(file: string): string[] {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as string[]) : [];
}

function rememberCgroups(file: string, processes: readonly ProcessIdentity[]): void {
  const all = new Set([...readCgroups(file), ...processes.flatMap(({ pid }) => cgroupsOf(pid))]);
  writeAtomically(file, JSON.stringify([...all]));
}

/** The namespace holder, by record or command line, and the daemon's processes, by command line. */
function rootProcesses(home: string, dir: string, record: HostRecord | null): number[] {
  const holder = `${namespaceHolderCommand(home)} infinity`;
  const named = allPids().filter((pid) => {
    const command = commandLine(pid);
    return command === holder || isDaemonChild(command, dir);
  });
  return record !== null && isAlive(record) ? [...named, record.pid] : named;
}

/** The roots, all processes in their private namespaces, and all descendants. */
function namespaceProcesses(roots: readonly number[]): ProcessIdentity[] {
  const kinds = ['mnt', 'net'] as const;
  const own = new Set(kinds.map((kind) => namespaceOf('self', kind)));
  const spaces = new Set(roots.flatMap((pid) => kinds.map((kind) => namespaceOf(pid, kind))));
  const isInside = (space: string | null): boolean => space !== null && spaces.has(space) && !own.has(space);
  const pids = allPids();
  const found = new Set(roots);
  for (const pid of pids) if (kinds.some((kind) => isInside(namespaceOf(pid, kind)))) found.add(pid);
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const pid of pids) if (found.has(parentOf(pid) ?? 0)) found.add(pid);
  }
  return [...found].map(identify).filter((identity) => identity !== null);
}

/** Removes the bridge of the site unless a member is still attached. */
export async function removeBridge(portBase: number): Promise<void> {
  const { bridge } = siteBridge(portBase);
  const cables = `/sys/class/net/${bridge}/brif`;
  if (existsSync(cables) && readdirSync(cables).length === 0) await run('ip', ['link', 'delete', bridge]);
}
