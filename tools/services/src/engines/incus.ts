import { chmodSync, existsSync, readFileSync, rmSync } from 'node:fs';

import type { Engine, Group, NodeSpec } from '../engine.ts';
import type { IncusClusterEndpoints, IncusEndpoints } from '../endpoints.ts';
import { isInstalled } from '../install/commands.ts';
import type { Site } from '../site.ts';
import { incusCall, type Address } from './incus-api.ts';
import {
  assertMember,
  clusterNetwork,
  formCluster,
  httpsAddress,
  isFormed,
  leaderOf,
} from './incus-cluster.ts';
import { incusFiles, makeIncusHome } from './incus-files.ts';
import { pciDevices } from './incus-gpus.ts';
import { clearHost, ensureHost, enter, liveHolder, memberAddress, removeBridge } from './incus-namespaces.ts';
import { removeDaemonLeftovers } from './incus-leftovers.ts';
import {
  ensureClientCertificate,
  ensureImage,
  ensureNetwork,
  ensurePool,
  ensureTrust,
  hasImage,
  images,
  setProfile,
  type BridgeNetwork,
} from './incus-setup.ts';

export const incusDaemon = '/usr/libexec/incus/incusd';
export const daemonArgs = (log: string): string[] => ['--group', 'root', '--logfile', log];
const poolSize = '5GiB';

const packages = {
  backports: ['incus-base', 'incus-client', 'libcowsql0', 'libraft0'],
  release: 'iproute2 dnsmasq-base nftables busybox-static btrfs-progs openssl dropbear-bin'.split(' '),
};

const neededCommands = [
  'incus',
  'ip',
  'dnsmasq',
  'nft',
  'busybox',
  'mkfs.btrfs',
  'openssl',
  'dropbear',
  'dropbearkey',
  'dropbearconvert',
];

/** Bridge and subnet of the single daemon, derived from the port base so that each site has its own. */
export function bridgeOf(portBase: number): BridgeNetwork {
  const high = 96 + ((portBase >> 8) & 0x7f);
  return { name: `mr${portBase}`, subnet: `10.${high}.${portBase & 0xff}.1/24` };
}

export const systemPath = '/usr/libexec/incus:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Root in a container often lacks these: 12 CAP_NET_ADMIN, 21 CAP_SYS_ADMIN, 27 CAP_MKNOD. */
const neededCapabilities = [12n, 21n, 27n];

/** Whether the capabilities in the text of /proc/PID/status suffice. */
export function isFullRoot(status: string): boolean {
  const [, mask = '0'] = /^CapEff:\s*([0-9a-f]+)$/mu.exec(status) ?? [];
  return neededCapabilities.every((bit) => ((BigInt(`0x${mask}`) >> bit) & 1n) === 1n);
}

async function formSingle({ site, nodes }: Group, note: (message: string) => void): Promise<void> {
  const [node] = nodes;
  const { home, socket, clientCertificate } = incusFiles(site, 'incus');
  const address = { socketPath: socket };
  const network = bridgeOf(site.portBase);
  await incusCall(address, 'GET', '/internal/ready');
  await ensurePool(address, poolSize, note);
  await ensureNetwork(address, network);
  await setProfile(address, network.name);
  await ensureTrust(address, clientCertificate);
  await ensureImage(address, home, images.busybox, note);
  await incusCall(address, 'PATCH', '/1.0', {
    config: { 'core.https_address': `127.0.0.1:${node?.ports['https']}`, 'images.auto_update_interval': '0' },
  });
}

/** TLS address of a node, with the client certificate. */
function clientAddress(group: Group, node: NodeSpec): Address {
  const { site, topology } = group;
  const shared = incusFiles(site, leaderOf(group).name);
  const own = incusFiles(site, node.name);
  const isCluster = topology === 'cluster';
  return {
    host: isCluster ? memberAddress(site.portBase, node) : '127.0.0.1',
    port: node.ports['https'] ?? 0,
    cert: readFileSync(shared.clientCertificate, 'utf8'),
    key: readFileSync(shared.clientKey, 'utf8'),
    ca: readFileSync(isCluster ? own.clusterCertificate : own.serverCertificate, 'utf8'),
  };
}

function singleEndpoints(site: Site): IncusEndpoints | undefined {
  const files = incusFiles(site, 'incus');
  if (!existsSync(files.serverCertificate)) return undefined;
  return {
    url: `https://127.0.0.1:${site.portBase + 70}`,
    socketPath: files.socket,
    clientCertificateFile: files.clientCertificate,
    clientKeyFile: files.clientKey,
    serverCertificateFile: files.serverCertificate,
    imageAlias: images.busybox.alias,
    bridge: bridgeOf(site.portBase).name,
  };
}

function clusterEndpoints(group: Group): IncusClusterEndpoints | undefined {
  const { site, nodes } = group;
  if (!isFormed(group)) return undefined;
  const shared = incusFiles(site, leaderOf(group).name);
  return {
    members: nodes.map((node) => ({
      name: node.name,
      url: `https://${httpsAddress(site, node)}`,
      address: memberAddress(site.portBase, node),
      socketPath: incusFiles(site, node.name).socket,
    })),
    clientCertificateFile: shared.clientCertificate,
    clientKeyFile: shared.clientKey,
    serverCertificateFile: shared.clusterCertificate,
    imageAlias: images.busybox.alias,
    sshImageAlias: images.ssh.alias,
    network: clusterNetwork.name,
  };
}

export const incus: Engine = {
  name: 'incus',
  title: 'Incus 6.0',
  topologies: ['single', 'cluster'],
  // SIGPWR also stops the instances; SIGTERM would leave them running without their daemon.
  stop: { signal: 'SIGPWR', timeoutMs: 60_000 },
  // Three daemons that stop at once would wait for each other's votes. `release` stops the instances instead.
  stopInCluster: { signal: 'SIGKILL', timeoutMs: 10_000 },
  readyTimeoutMs: 240_000,

  obstacle(site) {
    if (!site.isRoot) return 'Incus needs root to create bridges, mounts and containers.';
    if (!isFullRoot(readFileSync('/proc/self/status', 'utf8'))) {
      return 'Incus needs root with CAP_NET_ADMIN, CAP_SYS_ADMIN and CAP_MKNOD, to create networks, mounts and device nodes.';
    }
    return existsSync(pciDevices) ? null : 'Incus needs a kernel with PCI support for its GPUs.';
  },

  async needs() {
    const there = await Promise.all(neededCommands.map(isInstalled));
    if (existsSync(incusDaemon) && there.every(Boolean)) return [];
    return [
      { kind: 'packages', from: 'backports', packages: packages.backports },
      { kind: 'packages', from: 'release', packages: packages.release },
    ];
  },

  nodes({ portBase }, topology) {
    const indexes = topology === 'single' ? [0] : [1, 2, 3];
    return indexes.map((index) => ({
      name: index === 0 ? 'incus' : `incus-${index}`,
      index,
      ports: { https: portBase + 70 + index },
    }));
  },

  async configure(group, node) {
    const { site } = group;
    chmodSync(makeIncusHome(site, node.name), 0o711);
    const leader = leaderOf(group);
    if (node === leader) {
      const { clientCertificate, clientKey } = incusFiles(site, leader.name);
      await ensureClientCertificate(clientCertificate, clientKey);
    }
    if (group.topology === 'single') return;
    if (!isFormed(group)) {
      // A member that died before the cluster was formed may know only part of it, and has no data worth keeping.
      await clearHost(site, node);
      rmSync(incusFiles(site, node.name).dir, { recursive: true, force: true });
    }
    await ensureHost(site, node);
  },

  start({ site, topology }, node) {
    const { dir, daemonLog, simulation } = incusFiles(site, node.name);
    const args = daemonArgs(daemonLog);
    if (topology === 'single') return { file: incusDaemon, args, env: { INCUS_DIR: dir, PATH: systemPath } };
    return {
      file: 'nsenter',
      args: [...enter(liveHolder(site, node.name)), incusDaemon, ...args],
      env: { INCUS_DIR: dir, PATH: `${simulation}/bin:${systemPath}` },
    };
  },

  async form(group, note) {
    await (group.topology === 'single' ? formSingle(group, note) : formCluster(group, note));
  },

  async ready(group, node) {
    const address = clientAddress(group, node);
    const server = await incusCall(address, 'GET', '/1.0');
    if (typeof server !== 'object' || server === null || !('auth' in server) || server.auth !== 'trusted') {
      throw new Error('the daemon does not trust our certificate');
    }
    const expected = group.topology === 'single' ? [images.busybox] : Object.values(images);
    for (const image of expected) {
      if (!(await hasImage(address, image))) throw new Error(`the image ${image.alias} is missing`);
    }
    if (group.topology === 'single') return;
    if (!isFormed(group)) throw new Error('the cluster is not formed yet');
    await assertMember(address, node);
  },

  /** After a kill, bridges, DHCP servers, containers and mounts still exist. */
  async release(group) {
    const { site, topology, nodes } = group;
    if (topology === 'single') {
      const { dir, socket } = incusFiles(site, 'incus');
      if (!existsSync(dir)) return;
      await removeDaemonLeftovers(dir, bridgeOf(site.portBase).name);
      rmSync(socket, { force: true });
      return;
    }
    await Promise.all(nodes.map((node) => clearHost(site, node)));
    await removeBridge(site.portBase);
    for (const node of nodes) {
      const { dir, socket } = incusFiles(site, node.name);
      // A cluster that was never formed starts again without data.
      rmSync(isFormed(group) ? socket : dir, { recursive: true, force: true });
    }
  },

  endpoints({ site, engine }) {
    const nodes = engine.nodes(site, 'cluster');
    const incusCluster = clusterEndpoints({ site, engine, topology: 'cluster', nodes });
    const single = singleEndpoints(site);
    return { ...(single && { incus: single }), ...(incusCluster && { incusCluster }) };
  },
};
