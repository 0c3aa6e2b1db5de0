import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { UnsupportedHostError } from '@millrace/runners';
import { eventually } from '@millrace/testing';
import type { VmImage } from './image.ts';

const run = promisify(execFile);
const daemon = '/usr/libexec/incus/incusd';

const vethName = 'mrvm0';
/** Reserved for documentation; some laboratories and sandboxes use them anyway. */
const exampleNetworks = ['198.51.100', '203.0.113'];
const network = { name: 'tenants', subnet: '10.155.0.1/24' };
/** Short path of the daemon's folder, because VM sockets have long names and socket paths end at 108 bytes. */
const shortDir = '/mnt';
const isoProgram = '/usr/bin/mkisofs';

export const hostName = 'emulated';
export const imageAlias = 'debian';

export interface EmulatedHost {
  readonly socketPath: string;
  /** Where opened ports are reachable from outside the host. */
  readonly address: string;
  readonly network: string;
  readonly storagePool: string;
  readonly engine: string;
  enter(file: string, ...args: readonly string[]): Promise<string>;
  /** Hides the program that creates cloud-init disks while `work` runs. */
  withoutIsoMaker(work: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/**
 * Sets up the host's namespaces: missing packages in /usr, and the device files that Incus requires before it runs VMs. Empty
 * files are enough, because they are never used.
 */
const hostSetupScript = `set -e
folder=$1 unpacked=$2 address=$3
echo ${hostName} >/proc/sys/kernel/hostname
ip link set lo up
ip addr add "$address/24" dev eth0
ip link set eth0 up
mount -t overlay overlay -o "lowerdir=$unpacked/usr:/usr" /usr
dev=$folder/dev
mount -t tmpfs -o mode=755 tmpfs "$dev"
find /dev -maxdepth 1 '(' -type c -o -type l ')' -exec cp -a -t "$dev" {} +
mkdir "$dev/pts" "$dev/shm" "$dev/mqueue" "$dev/net"
cp -a /dev/net/tun "$dev/net/"
for name in kvm vhost-vsock; do [ -e "$dev/$name" ] || : >"$dev/$name"; done
mount --rbind /dev/pts "$dev/pts"
mount --rbind /dev/shm "$dev/shm"
mount --move "$dev" /dev
mount --rbind /sys/fs/cgroup "$folder/cgroup"
mount -t sysfs sysfs /sys
mount --move "$folder/cgroup" /sys/fs/cgroup
mount --bind "$folder/var" ${shortDir}
`;

/** An Incus daemon that runs emulated VMs in its own namespaces. Everything ends with one process, which ends with this one. */
export async function openEmulatedHost(
  folder: string,
  unpacked: string,
  image: VmImage,
): Promise<EmulatedHost> {
  const at = (name: string): string => path.join(folder, name);
  for (const name of ['bin', 'dev', 'cgroup', 'var']) mkdirSync(at(name));
  chmodSync(folder, 0o711);
  copyFileSync(path.join(import.meta.dirname, 'emulating-qemu.sh'), at('bin/qemu-system-x86_64'));
  chmodSync(at('bin/qemu-system-x86_64'), 0o755);
  // Incus loads a kernel module that only its agent needs, which these machines do not have.
  writeFileSync(at('bin/modprobe'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });

  const holder = launchNamespaceHolder(at('keeper.log'));
  const close = async (): Promise<void> => {
    await endAll(holder);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const pid = await firstProcess(holder);
    const { here, there } = await chooseAddresses();
    const inside = ['-t', pid, '-m', '-n', '-u', '-p', '--'];
    const env = {
      INCUS_DIR: shortDir,
      HOME: folder,
      PATH: `${at('bin')}:/usr/libexec/incus:/usr/sbin:/usr/bin:/sbin:/bin`,
    };
    const enter = async (file: string, ...args: readonly string[]): Promise<string> => {
      const running = run('nsenter', [...inside, file, ...args], { env, timeout: 300_000 });
      // Close stdin, because the incus client would read settings from it.
      running.child.stdin?.end();
      return (await running).stdout;
    };
    await connect(pid, here);
    await enter('sh', '-c', hostSetupScript, 'sh', folder, unpacked, there);
    const shim = path.join(import.meta.dirname, 'without-vsock.py');
    const words = ['/usr/bin/python3', shim, daemon, '--group', 'root', '--logfile', at('incusd.log')];
    launch('nsenter', [...inside, ...words], at('daemon.log'), env);
    await enter(daemon, 'waitready', '--timeout=60');
    const engine = await engineOf(enter, at('incusd.log'));
    await setUp(enter, image);
    const withoutIsoMaker = async (work: () => Promise<void>): Promise<void> => {
      await enter('mount', '--bind', '/dev/null', isoProgram);
      try {
        await work();
      } finally {
        await enter('umount', isoProgram);
      }
    };
    return {
      socketPath: at('var/unix.socket'),
      address: there,
      network: network.name,
      storagePool: 'default',
      engine,
      enter,
      withoutIsoMaker,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Sleeps as the first process of its namespaces; the kernel kills all others in them with it. */
function launchNamespaceHolder(log: string): ChildProcess {
  const spaces = ['--mount', '--net', '--uts', '--pid', '--mount-proc', '--propagation', 'private'];
  const words = ['--pdeathsig', 'KILL', 'unshare', ...spaces, '--fork', '--kill-child', 'sleep', 'infinity'];
  return launch('setpriv', words, log);
}

function launch(
  file: string,
  args: readonly string[],
  log: string,
  env?: Readonly<Record<string, string>>,
): ChildProcess {
  const output = openSync(log, 'a');
  return spawn(file, args, { stdio: ['ignore', output, output], ...(env && { env }) });
}

/** The pid on this machine. `unshare` starts the process, which becomes `sleep` when its mounts are in place. */
function firstProcess(holder: ChildProcess): Promise<string> {
  return eventually({ what: '`unshare` to create namespaces, which needs full root' }, () => {
    const child = childOf(holder);
    return child !== '' && readFileSync(`/proc/${child}/cmdline`, 'utf8').startsWith('sleep') && child;
  });
}

function childOf({ pid }: ChildProcess): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
}

/** Addresses of both ends of the veth pair, in a network without routes on this machine. */
async function chooseAddresses(): Promise<{ readonly here: string; readonly there: string }> {
  const { stdout: routes } = await run('ip', ['-4', 'route', 'show', 'table', 'all']);
  const free = exampleNetworks.find((prefix) => !routes.includes(`${prefix}.`));
  if (free === undefined) {
    throw new UnsupportedHostError(
      `the proof needs one of ${exampleNetworks.join('.0/24 and ')}.0/24, and this machine uses both.`,
    );
  }
  return { here: `${free}.1`, there: `${free}.2` };
}

async function connect(pid: string, here: string): Promise<void> {
  await run('ip', ['link', 'add', vethName, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pid]);
  await run('ip', ['addr', 'add', `${here}/24`, 'dev', vethName]);
  await run('ip', ['link', 'set', vethName, 'up']);
}

async function setUp(enter: EmulatedHost['enter'], image: VmImage): Promise<void> {
  await enter('incus', 'storage', 'create', 'default', 'dir');
  const settings = [`ipv4.address=${network.subnet}`, 'ipv4.nat=false', 'ipv6.address=none'];
  await enter('incus', 'network', 'create', network.name, ...settings);
  await enter('incus', 'image', 'import', image.metadataFile, image.diskFile, '--alias', imageAlias);
}

async function engineOf(enter: EmulatedHost['enter'], log: string): Promise<string> {
  const response = JSON.parse(await enter('incus', 'query', '/1.0')) as {
    environment: { driver: string; driver_version: string; server_version: string };
  };
  const { driver, driver_version: version, server_version: incus } = response.environment;
  if (driver.includes('qemu')) return `Incus ${incus}, ${driver} ${version}`;
  const lines = readFileSync(log, 'utf8').split('\n');
  const reason = lines.findLast((line) => line.includes('virtual-machine')) ?? '';
  throw new UnsupportedHostError(`Incus reports that this host cannot run VMs. ${reason}`);
}

/** Kills the first process and waits for `unshare`, which exits when all processes of the namespaces have ended. */
async function endAll(holder: ChildProcess): Promise<void> {
  if (holder.exitCode !== null || holder.signalCode !== null) return;
  const over = once(holder, 'exit');
  const child = childOf(holder);
  if (child === '') holder.kill('SIGKILL');
  else process.kill(Number(child), 'SIGKILL');
  await over;
}
