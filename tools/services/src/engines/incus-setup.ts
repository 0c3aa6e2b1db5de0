import { createHash, X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, renameSync } from 'node:fs';
import path from 'node:path';

import type { Note } from '../engine.ts';
import { runOrThrow } from '../processes.ts';
import { incusCall, incusFind, type Address } from './incus-api.ts';
import { buildBusyboxImage, buildSshImage } from './incus-image.ts';
import { removeBridge } from './incus-leftovers.ts';

// Steps that set up a daemon. Each first checks whether it is done, so a killed setup can be continued.

export const images = {
  busybox: { alias: 'busybox', build: buildBusyboxImage },
  ssh: { alias: 'millrace-ssh', build: buildSshImage },
} as const;

type Image = (typeof images)[keyof typeof images];

/** The certificate with which our programs authenticate to the daemon. */
export async function ensureClientCertificate(certificateFile: string, keyFile: string): Promise<void> {
  if (existsSync(certificateFile)) return;
  const draft = `${certificateFile}.new`;
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384', '-sha384', '-nodes'];
  const output = ['-days', '3650', '-subj', '/CN=millrace', '-keyout', keyFile, '-out', draft];
  await runOrThrow('openssl', ['req', '-x509', ...curve, ...output]);
  chmodSync(keyFile, 0o600);
  renameSync(draft, certificateFile);
}

export async function ensurePool(address: Address, size: string, note: Note): Promise<void> {
  const known = await incusFind(address, '/1.0/storage-pools/default');
  if (isWhole(known)) return;
  // A daemon that was killed while it created the pool leaves an incomplete one, which blocks a new one.
  if (known !== null) await incusCall(address, 'DELETE', '/1.0/storage-pools/default');
  note('creating the storage pool');
  await incusCall(address, 'POST', '/1.0/storage-pools', {
    name: 'default',
    driver: 'btrfs',
    config: { size },
  });
}

function isWhole(pool: unknown): boolean {
  return typeof pool === 'object' && pool !== null && 'status' in pool && pool.status === 'Created';
}

export interface BridgeNetwork {
  readonly name: string;
  readonly subnet: string;
}

export async function ensureNetwork(address: Address, { name, subnet }: BridgeNetwork): Promise<void> {
  const known = await incusFind(address, `/1.0/networks/${name}`);
  if (isManaged(known)) return;
  // The daemon also lists bridges that it does not manage. One with our name was left by a daemon killed with its files.
  if (known !== null) await removeBridge(name);
  const config = { 'ipv4.address': subnet, 'ipv4.nat': 'false', 'ipv6.address': 'none' };
  await incusCall(address, 'POST', '/1.0/networks', { name, type: 'bridge', config });
}

function isManaged(network: unknown): boolean {
  return typeof network === 'object' && network !== null && 'managed' in network && network.managed === true;
}

/** New instances get a disk from the pool and an interface on the bridge. */
export async function setProfile(address: Address, network: string): Promise<void> {
  const devices = {
    root: { type: 'disk', path: '/', pool: 'default' },
    eth0: { type: 'nic', name: 'eth0', network },
  };
  await incusCall(address, 'PUT', '/1.0/profiles/default', { config: {}, description: '', devices });
}

export async function ensureTrust(address: Address, certificateFile: string): Promise<void> {
  const certificate = new X509Certificate(readFileSync(certificateFile));
  const fingerprint = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
  if ((await incusFind(address, `/1.0/certificates/${fingerprint}`)) !== null) return;
  const body = { type: 'client', name: 'millrace', certificate: certificate.raw.toString('base64') };
  await incusCall(address, 'POST', '/1.0/certificates', body);
}

export async function ensureImage(address: Address, folder: string, image: Image, note: Note): Promise<void> {
  if (await hasImage(address, image)) return;
  note(`importing the image ${image.alias}`);
  const file = path.join(folder, `${image.alias}.tar.gz`);
  if (!existsSync(file)) {
    await image.build(`${file}.new`);
    renameSync(`${file}.new`, file);
  }
  const content = readFileSync(file);
  // Incus identifies an image by its digest, so an import that was killed before it got its alias is found.
  const target = createHash('sha256').update(content).digest('hex');
  if ((await incusFind(address, `/1.0/images/${target}`)) === null) {
    await incusCall(address, 'POST', '/1.0/images', content);
  }
  await incusCall(address, 'POST', '/1.0/images/aliases', { name: image.alias, target });
}

export async function hasImage(address: Address, { alias }: Image): Promise<boolean> {
  return (await incusFind(address, `/1.0/images/aliases/${alias}`)) !== null;
}
