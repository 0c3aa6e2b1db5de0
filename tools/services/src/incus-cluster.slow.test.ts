import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { expect, test } from 'vitest';

import { incusCall, type Address } from './engines/incus-api.ts';
import { cgroupsOf } from './engines/incus-cgroups.ts';
import { gpusOf } from './engines/incus-gpus.ts';
import { liveHolder, siteBridge } from './engines/incus-namespaces.ts';
import { mountsBelow } from './engines/incus-leftovers.ts';
import { down, ensureUp, killNode, type IncusClusterEndpoints, type IncusMember } from './index.ts';
import { createPrivateSite, states, type PrivateSite } from './private-site.ts';
import { allPids, commandLine, runOrThrow } from './processes.ts';
import { isRoot, openSite } from './site.ts';
import { eventually } from './time.ts';

const members = ['incus-1', 'incus-2', 'incus-3'];

async function clusterOf(place: PrivateSite): Promise<IncusClusterEndpoints> {
  const { incusCluster } = await ensureUp(['incus'], { ...place, topology: 'cluster' });
  if (incusCluster === undefined) throw new Error('the cluster has no endpoint');
  return incusCluster;
}

function tlsAddress(cluster: IncusClusterEndpoints, { url }: IncusMember): Address {
  const { hostname, port } = new URL(url);
  return {
    host: hostname,
    port: Number(port),
    cert: readFileSync(cluster.clientCertificateFile, 'utf8'),
    key: readFileSync(cluster.clientKeyFile, 'utf8'),
    ca: readFileSync(cluster.serverCertificateFile, 'utf8'),
  };
}

interface Resources {
  readonly gpu: {
    readonly cards: readonly {
      readonly pci_address: string;
      readonly numa_node: number;
      readonly nvidia: { readonly uuid: string; readonly model: string; readonly brand: string };
    }[];
  };
}

const sshPort = 30_022;

/** Creates a container with one GPU, an SSH server behind the member's address, and a key installed at first boot. */
async function makeProbe(at: Address, member: IncusMember, pciAddress: string, key: string): Promise<void> {
  await incusCall(at, 'POST', `/1.0/instances?target=${member.name}`, {
    name: 'probe',
    type: 'container',
    source: { type: 'image', alias: 'millrace-ssh' },
    devices: {
      gpu: { type: 'gpu', gputype: 'physical', pci: pciAddress },
      ssh: { type: 'proxy', listen: `tcp:${member.address}:${sshPort}`, connect: 'tcp:127.0.0.1:22' },
    },
  });
  const script = `set -e\necho '${key}' >/home/ubuntu/.ssh/authorized_keys\nchown -R ubuntu /home/ubuntu/.ssh\n`;
  await incusCall(at, 'POST', '/1.0/instances/probe/files?path=/etc/millrace/firstboot', Buffer.from(script));
  await incusCall(at, 'PUT', '/1.0/instances/probe/state', { action: 'start', timeout: 30 });
}

function overSsh(keyFile: string, { address }: IncusMember, command: string): Promise<string> {
  const options = ['-y', '-y', '-i', keyFile, '-p', String(sshPort)];
  return runOrThrow('dbclient', [...options, `ubuntu@${address}`, command], { timeoutMs: 10_000 });
}

/** All traces of a site on this machine. */
function tracesOf(place: PrivateSite): string[] {
  const { bridge } = siteBridge(place.portBase);
  const processes = allPids().filter((pid) => commandLine(pid).includes(`${place.stateDir}/`));
  const links = readdirSync('/sys/class/net').filter((name) => name.startsWith(bridge));
  const mounts = mountsBelow(readFileSync('/proc/self/mountinfo', 'utf8'), place.stateDir);
  const disks = readdirSync('/sys/block').filter((name) => {
    const file = `/sys/block/${name}/loop/backing_file`;
    return existsSync(file) && readFileSync(file, 'utf8').startsWith(`${place.stateDir}/`);
  });
  return [...processes.map(commandLine), ...links, ...mounts, ...disks];
}

test('Incus cluster: three simulated hosts form it, containers survive a killed daemon, and `down` leaves no trace', async () => {
  const place = await createPrivateSite();
  if (!isRoot()) {
    await expect(clusterOf(place)).rejects.toThrow(/needs root/u);
    return;
  }
  const cluster = await clusterOf(place);
  const [first, second] = cluster.members;
  if (first === undefined || second === undefined) throw new Error('the cluster has no members');
  const at = tlsAddress(cluster, first);
  expect(await states(place)).toMatchObject(Object.fromEntries(members.map((name) => [name, 'ready'])));

  // Each member must report its own GPUs at its own address.
  const uuids = new Set<string>();
  for (const member of cluster.members) {
    const { gpu } = (await incusCall(tlsAddress(cluster, member), 'GET', '/1.0/resources')) as Resources;
    expect(gpu.cards.map((card) => card.numa_node)).toEqual([0, 0, 0, 0, 1, 1, 1, 1]);
    for (const { nvidia } of gpu.cards) {
      expect(nvidia).toMatchObject({ model: 'NVIDIA H100 80GB HBM3', brand: 'Simulated' });
      uuids.add(nvidia.uuid);
    }
  }
  expect(uuids.size).toBe(24);

  const wanted = gpusOf(place.portBase, second.name)[5];
  if (wanted === undefined) throw new Error('no sixth GPU');
  const keyFile = path.join(place.stateDir, 'probe-key');
  await runOrThrow('dropbearkey', ['-t', 'ed25519', '-f', keyFile]);
  const publicKey =
    /^ssh-ed25519 .*$/mu.exec(await runOrThrow('dropbearkey', ['-y', '-f', keyFile]))?.[0] ?? '';
  await makeProbe(at, second, wanted.pciAddress, publicKey);
  const cards = await eventually({ timeoutMs: 20_000, intervalMs: 200 }, () =>
    overSsh(keyFile, second, 'cd /dev && echo nvidia[0-9]*'),
  );
  expect(cards).toBe('nvidia5\n');

  const before = (await incusCall(at, 'GET', '/1.0/instances/probe/state')) as { readonly pid: number };
  const host = liveHolder(openSite(place), second.name);
  await killNode(second.name, place);
  expect(await states(place)).toMatchObject({ 'incus-1': 'ready', 'incus-2': 'dead', 'incus-3': 'ready' });
  expect(await overSsh(keyFile, second, 'id -un')).toBe('ubuntu\n');
  await ensureUp(['incus'], place);
  expect(await states(place)).toMatchObject({ 'incus-2': 'ready' });
  expect(liveHolder(openSite(place), second.name)).toEqual(host);
  const after = await incusCall(tlsAddress(cluster, second), 'GET', '/1.0/instances/probe/state');
  expect(after).toMatchObject({ status: 'Running', pid: before.pid });

  // Hardest case for `down`: the daemon is dead, its container still runs, and no `up` comes in between.
  const [cgroup = ''] = cgroupsOf(before.pid);
  expect(cgroup).toMatch(/^\/lxc\.payload\.probe/u);
  await killNode(second.name, place);
  await down([], place);
  expect(tracesOf(place)).toEqual([]);
  const hierarchies = ['', ...readdirSync('/sys/fs/cgroup')].map((name) => path.join('/sys/fs/cgroup', name));
  expect(hierarchies.filter((folder) => existsSync(path.join(folder, cgroup)))).toEqual([]);
});

test('Incus cluster: after `up` was killed during joining, `down` leaves no trace and `up` continues', async () => {
  const place = await createPrivateSite();
  if (!isRoot()) {
    await expect(clusterOf(place)).rejects.toThrow(/needs root/u);
    return;
  }
  const main = fileURLToPath(new URL('main.ts', import.meta.url));
  const argv = ['up', 'incus', '--cluster', '--state', place.stateDir, '--port-base', String(place.portBase)];
  const killedAt = async (words: string): Promise<void> => {
    const tool = spawn(process.execPath, [main, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
    tool.stdout.on('data', (text: Buffer) => {
      if (text.includes(words)) tool.kill('SIGKILL');
    });
    const [, signal] = (await once(tool, 'exit')) as [number | null, string | null];
    expect(signal).toBe('SIGKILL');
  };
  await killedAt('starting incus-2');
  await down([], place);
  expect(tracesOf(place)).toEqual([]);
  await killedAt('incus-2 joins');
  await clusterOf(place);
  expect(await states(place)).toMatchObject(Object.fromEntries(members.map((name) => [name, 'ready'])));
});
