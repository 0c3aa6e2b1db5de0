import { X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';

import type { Engine, Group, NodeSpec, Note } from '../engine.ts';
import { Failure } from '../failure.ts';
import { isInstalled } from '../install/commands.ts';
import { allPids, commandLine, identify, mustRun, parentOf, run, signal } from '../processes.ts';
import { isOpenToOthers, knownHome, nodeHome, type Site } from '../site.ts';
import { eventually } from '../time.ts';
import { incusCall, incusFind, type IncusAddress } from './incus-api.ts';
import { buildBusyboxImage } from './incus-image.ts';

const daemon = '/usr/libexec/incus/incusd';
const imageAlias = 'busybox';
const poolSize = '5GiB';

/** Incus puts sockets with long names of their own below its folder, and a socket's path ends at 108 bytes. */
const longestHome = 60;

const packages = {
  backports: ['incus-base', 'libcowsql0', 'libraft0'],
  release: ['iproute2', 'dnsmasq-base', 'nftables', 'busybox-static', 'btrfs-progs', 'openssl'],
};

/** The users inside containers are mapped to unprivileged ones, which must be able to reach their disks. */
function homeOf(site: Site, node: NodeSpec): string {
  return nodeHome(site, node.name, (folder) => folder.length <= longestHome && isOpenToOthers(folder));
}

function filesOf(site: Site, nodeName = 'incus') {
  const home = knownHome(site, nodeName);
  const dir = path.join(home, 'var');
  return {
    home,
    dir,
    socket: path.join(dir, 'unix.socket'),
    serverCertificate: path.join(dir, 'server.crt'),
    clientCertificate: path.join(home, 'client.crt'),
    clientKey: path.join(home, 'client.key'),
    image: path.join(home, 'busybox.tar.gz'),
  };
}

/** Each instance has a bridge and a subnet of its own, both told by its port base. */
export function bridgeOf(portBase: number): { readonly name: string; readonly subnet: string } {
  const high = 96 + ((portBase >> 8) & 0x7f);
  return { name: `mr${portBase}`, subnet: `10.${high}.${portBase & 0xff}.1/24` };
}

function onlyNode(group: Group): NodeSpec {
  const [node] = group.nodes;
  if (node === undefined) throw new Error('Incus has one node');
  return node;
}

/** The certificate with which our own programs identify themselves to the daemon. */
async function ensureClientCertificate(site: Site): Promise<void> {
  const { clientCertificate, clientKey } = filesOf(site);
  if (existsSync(clientCertificate)) return;
  const draft = `${clientCertificate}.new`;
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384', '-sha384', '-nodes'];
  const output = ['-days', '3650', '-subj', '/CN=millrace', '-keyout', clientKey, '-out', draft];
  await mustRun('openssl', ['req', '-x509', ...curve, ...output]);
  chmodSync(clientKey, 0o600);
  renameSync(draft, clientCertificate);
}

async function ensurePool(address: IncusAddress, note: Note): Promise<void> {
  const known = await incusFind(address, '/1.0/storage-pools/default');
  if (isWhole(known)) return;
  // A daemon killed while it made the pool leaves a half one behind, which only stands in the way.
  if (known !== null) await incusCall(address, 'DELETE', '/1.0/storage-pools/default');
  note('making the storage pool');
  const config = { size: poolSize };
  await incusCall(address, 'POST', '/1.0/storage-pools', { name: 'default', driver: 'btrfs', config });
}

function isWhole(pool: unknown): boolean {
  return typeof pool === 'object' && pool !== null && 'status' in pool && pool.status === 'Created';
}

async function ensureNetwork(address: IncusAddress, portBase: number): Promise<void> {
  const { name, subnet } = bridgeOf(portBase);
  if ((await incusFind(address, `/1.0/networks/${name}`)) !== null) return;
  const config = { 'ipv4.address': subnet, 'ipv4.nat': 'false', 'ipv6.address': 'none' };
  await incusCall(address, 'POST', '/1.0/networks', { name, type: 'bridge', config });
}

/** New instances get a disk from the pool and a card on the bridge. */
async function setProfile(address: IncusAddress, portBase: number): Promise<void> {
  const devices = {
    root: { type: 'disk', path: '/', pool: 'default' },
    eth0: { type: 'nic', name: 'eth0', network: bridgeOf(portBase).name },
  };
  await incusCall(address, 'PUT', '/1.0/profiles/default', { config: {}, description: '', devices });
}

async function ensureTrust(address: IncusAddress, certificateFile: string): Promise<void> {
  const certificate = new X509Certificate(readFileSync(certificateFile));
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  if ((await incusFind(address, `/1.0/certificates/${fingerprint}`)) !== null) return;
  const body = { type: 'client', name: 'millrace', certificate: certificate.raw.toString('base64') };
  await incusCall(address, 'POST', '/1.0/certificates', body);
}

async function ensureImage(address: IncusAddress, file: string, note: Note): Promise<void> {
  if ((await incusFind(address, `/1.0/images/aliases/${imageAlias}`)) !== null) return;
  note('importing the busybox image');
  if (!existsSync(file)) {
    await buildBusyboxImage(`${file}.new`);
    renameSync(`${file}.new`, file);
  }
  const target = await importImage(address, readFileSync(file));
  await incusCall(address, 'POST', '/1.0/images/aliases', { name: imageAlias, target });
}

/** An image that is there already (killed before it got its alias) answers with its fingerprint as well. */
async function importImage(address: IncusAddress, image: Buffer): Promise<string> {
  const known = await incusCall(address, 'GET', '/1.0/images');
  const [first] = Array.isArray(known) ? known.filter((url) => typeof url === 'string') : [];
  if (first !== undefined) return path.basename(first);
  const made = await incusCall(address, 'POST', '/1.0/images', image);
  if (typeof made === 'object' && made !== null && 'fingerprint' in made) return String(made.fingerprint);
  throw new Error('the image was imported without a fingerprint');
}

/** Whether a command line is of a process that this daemon started, and not of somebody looking at its files. */
export function isDaemonChild(command: string, dir: string): boolean {
  return /^(?:\S*\/)?(?:dnsmasq|incusd|\[lxc monitor\]) /u.test(command) && command.includes(`${dir}/`);
}

/** DHCP servers and container monitors outlive a killed daemon; a container's first process is a monitor's child. */
function killLeftovers(dir: string): void {
  const pids = allPids();
  const named = new Set(pids.filter((pid) => isDaemonChild(commandLine(pid), dir)));
  const children = pids.filter((pid) => named.has(parentOf(pid) ?? 0) && !named.has(pid));
  for (const pid of [...children, ...named]) {
    const identity = identify(pid);
    if (identity !== null) signal(identity, 'SIGKILL');
  }
}

function cardsOn(bridge: string): string[] {
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

export const incus: Engine = {
  name: 'incus',
  title: 'Incus 6.0',
  topologies: ['single'],
  // SIGPWR stops the instances as well; SIGTERM would leave them running without their daemon.
  stop: { signal: 'SIGPWR', timeoutMs: 60_000 },
  readyTimeoutMs: 120_000,

  obstacle(site) {
    return site.isRoot ? null : 'Incus needs root: it makes bridges, mounts and containers.';
  },

  async needs() {
    const commands = ['ip', 'dnsmasq', 'nft', 'busybox', 'mkfs.btrfs', 'openssl'];
    const there = await Promise.all(commands.map(isInstalled));
    if (existsSync(daemon) && there.every(Boolean)) return [];
    return [
      { kind: 'packages', from: 'backports', packages: packages.backports },
      { kind: 'packages', from: 'release', packages: packages.release },
    ];
  },

  nodes(site) {
    return [{ name: 'incus', index: 0, ports: { https: site.portBase + 70 } }];
  },

  async configure({ site }, node) {
    const home = homeOf(site, node);
    chmodSync(home, 0o711);
    await ensureClientCertificate(site);
  },

  start({ site }, node) {
    const { home, dir } = filesOf(site, node.name);
    return {
      file: daemon,
      args: ['--group', 'root', '--logfile', path.join(home, 'incusd.log')],
      env: {
        INCUS_DIR: dir,
        PATH: '/usr/libexec/incus:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      },
    };
  },

  async form(group, note) {
    const { site } = group;
    const { socket, clientCertificate, image } = filesOf(site);
    const address = { socketPath: socket };
    await incusCall(address, 'GET', '/internal/ready');
    await ensurePool(address, note);
    await ensureNetwork(address, site.portBase);
    await setProfile(address, site.portBase);
    await ensureTrust(address, clientCertificate);
    await ensureImage(address, image, note);
    await incusCall(address, 'PATCH', '/1.0', {
      config: {
        'core.https_address': `127.0.0.1:${onlyNode(group).ports['https']}`,
        'images.auto_update_interval': '0',
      },
    });
  },

  async ready({ site }, node) {
    const files = filesOf(site, node.name);
    const address: IncusAddress = {
      host: '127.0.0.1',
      port: node.ports['https'] ?? 0,
      cert: readFileSync(files.clientCertificate, 'utf8'),
      key: readFileSync(files.clientKey, 'utf8'),
      ca: readFileSync(files.serverCertificate, 'utf8'),
    };
    const server = await incusCall(address, 'GET', '/1.0');
    if (typeof server !== 'object' || server === null || !('auth' in server) || server.auth !== 'trusted') {
      throw new Error('the daemon does not trust our certificate');
    }
    if ((await incusFind(address, `/1.0/images/aliases/${imageAlias}`)) === null) {
      throw new Error('the busybox image is missing');
    }
  },

  /** A clean stop leaves little; after a kill the bridge, its DHCP server and the mounts are still there. */
  async release({ site }) {
    const { dir } = filesOf(site);
    if (!existsSync(dir)) return;
    killLeftovers(dir);
    const { name } = bridgeOf(site.portBase);
    // A killed container gives its card back to the host; the other end still hangs on the bridge.
    for (const card of cardsOn(name)) await run('ip', ['link', 'delete', card]);
    await run('ip', ['link', 'delete', name]);
    for (const chain of ['in', 'out', 'fwd', 'pstrt']) {
      await run('nft', ['delete', 'chain', 'inet', 'incus', `${chain}.${name}`]);
    }
    await eventually({ timeoutMs: 10_000, intervalMs: 200 }, async () => {
      for (const point of mountsBelow(readFileSync('/proc/self/mountinfo', 'utf8'), dir)) {
        await run('umount', [point]);
      }
      const left = mountsBelow(readFileSync('/proc/self/mountinfo', 'utf8'), dir);
      if (left.length > 0) {
        throw new Failure(`${left[0]} could not be unmounted.`, 'Something still uses it; see `fuser -m`.');
      }
    });
    rmSync(path.join(dir, 'unix.socket'), { force: true });
  },

  endpoints({ site, nodes: [node] }) {
    const files = filesOf(site);
    if (!existsSync(files.serverCertificate)) return {};
    return {
      incus: {
        url: `https://127.0.0.1:${node?.ports['https']}`,
        socketPath: files.socket,
        clientCertificateFile: files.clientCertificate,
        clientKeyFile: files.clientKey,
        serverCertificateFile: files.serverCertificate,
        imageAlias,
        bridge: bridgeOf(site.portBase).name,
      },
    };
  },
};
