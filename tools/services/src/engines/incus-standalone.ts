import { chmodSync, existsSync, rmSync } from 'node:fs';

import type { IncusHostEndpoints } from '../endpoints.ts';
import type { Engine, Group } from '../engine.ts';
import { writeAtomically, type Site } from '../site.ts';
import { incusCall, type Address } from './incus-api.ts';
import { clusterNetwork, httpsAddress } from './incus-cluster.ts';
import { incusFiles, makeIncusHome } from './incus-files.ts';
import { clearHost, ensureHost, enter, liveHolder, memberAddress, removeBridge } from './incus-namespaces.ts';
import { ensureImage, ensureNetwork, ensurePool, hasImage, images, setProfile } from './incus-setup.ts';
import { daemonArgs, incus, incusDaemon, systemPath } from './incus.ts';

// A daemon like a supplier's: on a simulated host with simulated GPUs, and without trusted clients.

const nodeName = 'incus-host';
/** Cluster members have 1 to 3. */
const nodeIndex = 9;
/** Sparse file; it uses only the space that is written. */
const poolSize = '20GiB';
const everyImage = Object.values(images);

function socketOf(site: Site): Address {
  return { socketPath: incusFiles(site, nodeName).socket };
}

function isFormed(site: Site): boolean {
  return existsSync(incusFiles(site, nodeName).formed);
}

function endpointsOf({ site, nodes }: Group): IncusHostEndpoints | undefined {
  const [node] = nodes;
  if (node === undefined || !isFormed(site)) return undefined;
  const { socket, serverCertificate } = incusFiles(site, nodeName);
  return {
    url: `https://${httpsAddress(site, node)}`,
    address: memberAddress(site.portBase, node),
    socketPath: socket,
    serverCertificateFile: serverCertificate,
    imageAlias: images.busybox.alias,
    sshImageAlias: images.ssh.alias,
    network: clusterNetwork.name,
    storagePool: 'default',
  };
}

export const incusHost: Engine = {
  name: 'incus-host',
  title: 'Incus 6.0 on a host of its own',
  topologies: ['single'],
  onlyByName: true,
  // `release` ends the instances.
  stop: { signal: 'SIGKILL', timeoutMs: 10_000 },
  readyTimeoutMs: 240_000,
  obstacle: (site) => incus.obstacle?.(site) ?? null,
  needs: (site) => incus.needs(site),

  nodes({ portBase }) {
    return [{ name: nodeName, index: nodeIndex, ports: { https: portBase + 70 + nodeIndex } }];
  },

  async configure({ site }, node) {
    chmodSync(makeIncusHome(site, node.name), 0o711);
    if (!isFormed(site)) {
      // A daemon that died before it was set up has no data worth keeping.
      await clearHost(site, node);
      rmSync(incusFiles(site, node.name).dir, { recursive: true, force: true });
    }
    await ensureHost(site, node);
  },

  start({ site }, node) {
    const { dir, daemonLog, simulation } = incusFiles(site, node.name);
    return {
      file: 'nsenter',
      args: [...enter(liveHolder(site, node.name)), incusDaemon, ...daemonArgs(daemonLog)],
      env: { INCUS_DIR: dir, PATH: `${simulation}/bin:${systemPath}` },
    };
  },

  async form({ site, nodes }, note) {
    const [node] = nodes;
    if (node === undefined) throw new Error('incus-host has no node');
    const address = socketOf(site);
    const { home, formed } = incusFiles(site, nodeName);
    await incusCall(address, 'GET', '/internal/ready');
    await ensurePool(address, poolSize, note);
    await ensureNetwork(address, clusterNetwork);
    await setProfile(address, clusterNetwork.name);
    for (const image of everyImage) await ensureImage(address, home, image, note);
    await incusCall(address, 'PATCH', '/1.0', {
      config: { 'core.https_address': httpsAddress(site, node), 'images.auto_update_interval': '0' },
    });
    writeAtomically(formed, '');
  },

  async ready({ site }) {
    for (const image of everyImage) {
      if (!(await hasImage(socketOf(site), image))) throw new Error(`the image ${image.alias} is missing`);
    }
  },

  async release({ site, nodes }) {
    await Promise.all(nodes.map((node) => clearHost(site, node)));
    await removeBridge(site.portBase);
    const { dir, socket } = incusFiles(site, nodeName);
    rmSync(isFormed(site) ? socket : dir, { recursive: true, force: true });
  },

  endpoints(group) {
    const found = endpointsOf(group);
    return found === undefined ? {} : { incusHost: found };
  },
};

/** Resets the daemon of a host to its initial state: only network, pool and images, and no trusted clients. */
export async function resetIncusHost({ socketPath }: Pick<IncusHostEndpoints, 'socketPath'>): Promise<void> {
  const address: Address = { socketPath };
  const list = async (target: string): Promise<readonly string[]> =>
    ((await incusCall(address, 'GET', target)) as readonly string[]).map((url) => url.split('?')[0] ?? '');
  for (const target of await list('/1.0/certificates')) await incusCall(address, 'DELETE', target);
  for (const project of (await list('/1.0/projects')).map((url) => url.split('/').at(-1) ?? '')) {
    const where = `?project=${project}`;
    await Promise.all(
      (await list(`/1.0/instances${where}`)).map(async (target) => {
        const { status } = (await incusCall(address, 'GET', `${target}${where}`)) as { status: string };
        const stop = { action: 'stop', force: true, timeout: 30 };
        if (status !== 'Stopped') await incusCall(address, 'PUT', `${target}/state${where}`, stop);
        await incusCall(address, 'DELETE', `${target}${where}`);
      }),
    );
    if (project === 'default') continue;
    for (const target of await list(`/1.0/images${where}`)) {
      await incusCall(address, 'DELETE', `${target}${where}`);
    }
    for (const target of await list(`/1.0/storage-pools/default/volumes/custom${where}`)) {
      await incusCall(address, 'DELETE', `${target}${where}`);
    }
    await incusCall(address, 'DELETE', `/1.0/projects/${project}`);
  }
}
