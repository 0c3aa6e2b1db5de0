import { existsSync, readFileSync } from 'node:fs';

import type { Group, NodeSpec, Note } from '../engine.ts';
import { Failure } from '../failure.ts';
import { liveRecord } from '../records.ts';
import { writeAtomically, type Site } from '../site.ts';
import { incusStartOperation, incusCall, incusFind, type Address } from './incus-api.ts';
import { incusFiles } from './incus-files.ts';
import { simulationKey } from './incus-gpus.ts';
import { memberAddress } from './incus-namespaces.ts';
import {
  ensureImage,
  ensureNetwork,
  ensurePool,
  ensureTrust,
  images,
  setProfile,
  type BridgeNetwork,
} from './incus-setup.ts';

const poolSize = '20GiB';

/** Bridge of every member. The addresses do not conflict, because each is in its own network namespace. */
export const clusterNetwork: BridgeNetwork = { name: 'millrace0', subnet: '10.64.0.1/16' };

function socketOf(site: Site, node: NodeSpec): Address {
  return { socketPath: incusFiles(site, node.name).socket };
}

export function httpsAddress(site: Site, node: NodeSpec): string {
  return `${memberAddress(site.portBase, node)}:${node.ports['https']}`;
}

export function leaderOf({ nodes }: Group): NodeSpec {
  const [leader] = nodes;
  if (leader === undefined) throw new Error('a cluster has members');
  return leader;
}

/** The file exists once all members have joined. From then on the cluster is never formed again. */
export function isFormed(group: Group): boolean {
  return existsSync(incusFiles(group.site, leaderOf(group).name).formed);
}

/**
 * The first member becomes a cluster of one, and the others join it and take over its network, profile and images. The daemons
 * finish
 * started operations even if this tool is killed.
 */
export async function formCluster(group: Group, note: Note): Promise<void> {
  const { site, nodes } = group;
  const leader = leaderOf(group);
  if (isFormed(group)) return restoreImages(group, note);
  await Promise.all(nodes.map((node) => incusCall(socketOf(site, node), 'GET', '/internal/ready')));
  const clustered = await Promise.all(nodes.map((node) => isClustered(socketOf(site, node))));
  const [first, ...others] = clustered;
  if (first !== true && others.includes(true)) {
    throw new Failure(
      `${leader.name} is no longer in the cluster, and forming had not finished.`,
      'Start over with `down incus --cluster` and `up incus --cluster`.',
    );
  }
  if (first !== true) await bootstrap(group, leader, note);
  for (const [index, node] of nodes.entries()) {
    if (node !== leader && clustered[index] !== true) await join(group, node, note);
  }
  await Promise.all(nodes.map((node) => describeMember(socketOf(site, leader), node)));
  writeAtomically(incusFiles(site, leader.name).formed, '');
}

async function isClustered(address: Address): Promise<boolean> {
  const cluster = await incusCall(address, 'GET', '/1.0/cluster');
  return typeof cluster === 'object' && cluster !== null && 'enabled' in cluster && cluster.enabled === true;
}

async function bootstrap({ site }: Group, leader: NodeSpec, note: Note): Promise<void> {
  const address = socketOf(site, leader);
  const { home, clientCertificate } = incusFiles(site, leader.name);
  await ensurePool(address, poolSize, note);
  await ensureNetwork(address, clusterNetwork);
  await setProfile(address, clusterNetwork.name);
  await ensureTrust(address, clientCertificate);
  await ensureImage(address, home, images.busybox, note);
  await ensureImage(address, home, images.ssh, note);
  const config = { 'core.https_address': httpsAddress(site, leader), 'images.auto_update_interval': '0' };
  await incusCall(address, 'PATCH', '/1.0', { config });
  note('creating the cluster on the first member');
  await incusCall(address, 'PUT', '/1.0/cluster', { server_name: leader.name, enabled: true });
}

async function join(group: Group, node: NodeSpec, note: Note): Promise<void> {
  const { site } = group;
  const leader = leaderOf(group);
  const atLeader = socketOf(site, leader);
  // An earlier `up` was killed while this member joined: the cluster lists it, but it is not in the cluster.
  const known = await incusFind(atLeader, `/1.0/cluster/members/${node.name}`);
  if (known !== null) await incusCall(atLeader, 'DELETE', `/1.0/cluster/members/${node.name}?force=1`);
  note(`${node.name} joins`);
  await incusCall(socketOf(site, node), 'PUT', '/1.0/cluster', {
    server_name: node.name,
    server_address: httpsAddress(site, node),
    enabled: true,
    cluster_address: httpsAddress(site, leader),
    cluster_certificate: readFileSync(incusFiles(site, leader.name).clusterCertificate, 'utf8'),
    cluster_token: await joinToken(atLeader, node.name),
    member_config: [
      { entity: 'storage-pool', name: 'default', key: 'source', value: '' },
      { entity: 'storage-pool', name: 'default', key: 'size', value: poolSize },
    ],
  });
}

/** Encodes a join token as the Incus client does. */
async function joinToken(atLeader: Address, name: string): Promise<string> {
  const started = await incusStartOperation(atLeader, 'POST', '/1.0/cluster/members', { server_name: name });
  const { metadata } = started as { metadata: Readonly<Record<string, unknown>> };
  const token = {
    server_name: name,
    fingerprint: metadata['fingerprint'],
    addresses: metadata['addresses'],
    secret: metadata['secret'],
    expires_at: metadata['expiresAt'],
  };
  return Buffer.from(JSON.stringify(token)).toString('base64');
}

/** Marks the host as simulated. PUT and PATCH both remove fields that are missing, so all are sent. */
async function describeMember(atLeader: Address, node: NodeSpec): Promise<void> {
  const target = `/1.0/cluster/members/${node.name}`;
  const known = (await incusCall(atLeader, 'GET', target)) as {
    readonly config: Readonly<Record<string, string>>;
    readonly roles: readonly string[];
    readonly failure_domain: string;
    readonly groups: readonly string[];
  };
  await incusCall(atLeader, 'PUT', target, {
    roles: known.roles,
    failure_domain: known.failure_domain,
    groups: known.groups,
    description: 'Simulated host with simulated GPUs',
    config: { ...known.config, [simulationKey]: 'true' },
  });
}

async function restoreImages(group: Group, note: Note): Promise<void> {
  const { site, nodes } = group;
  const alive = nodes.find((node) => liveRecord(site, node.name) !== null);
  if (alive === undefined) return;
  const { home } = incusFiles(site, leaderOf(group).name);
  for (const image of Object.values(images)) await ensureImage(socketOf(site, alive), home, image, note);
}

export async function assertMember(address: Address, node: NodeSpec): Promise<void> {
  const member = await incusCall(address, 'GET', `/1.0/cluster/members/${node.name}`);
  const { status, message } = member as { status?: string; message?: string };
  if (status !== 'Online') throw new Error(`the cluster reports the member as ${status}: ${message}`);
}
