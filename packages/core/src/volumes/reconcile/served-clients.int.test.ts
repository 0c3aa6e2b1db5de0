import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { connectVolumeBackend, exportPath } from '@millrace/storage';
import { isNfsError, Nfs41Client } from '@millrace/storage/nfs41';
import { eventually, startStorageNode, testLog, type StorageNode } from '@millrace/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { attachVolume, detachVolume } from '../actions/attach.service.ts';
import { createBackendPool } from '../model/backend-pool.ts';
import { reconcileDueVolumes, type VolumeDeps } from './reconcile-volume.ts';
import { detachRental, bumpSpecVersionsOfRental } from '../actions/rental-storage.service.ts';
import { deleteVolume } from '../actions/lifecycle.service.ts';
import { applyStorageConfig } from '../model/storage-config.ts';
import { updateVolume } from '../actions/update.service.ts';
import { volumesActor, type Volume } from '../model/volume.ts';
import { checkDueNodes } from './check-nodes.service.ts';
import {
  createVolumeHarness,
  HOUR_MS,
  quiet,
  region,
  type InsertedRental,
  type VolumeHarness,
} from '../volumes.fixture.ts';

// Tests the whole path with a real storage agent, NFS servers, and clients at the addresses of the rentals' machines.

let harness: VolumeHarness;
let node: StorageNode;
let deps: VolumeDeps;
const signal = new AbortController().signal;

beforeAll(async () => {
  [harness, node] = await Promise.all([createVolumeHarness(), startStorageNode({ poolGb: 2_000 })]);
  const [first = '', last = ''] = node.vips.split('-');
  const where = { name: 'eu-1', region, kind: 'nfs', endpoint: node.endpoint, credential: 'node' } as const;
  const setting = { ...where, vips: { first, last }, capacityGb: 1_900, settings: {} };
  expect(await applyStorageConfig(harness.db, [setting])).toEqual([]);
  const credentials = { node: node.credential };
  const backends = createBackendPool({
    log: quiet,
    connect: (storage) => connectVolumeBackend(storage, { clock: systemClock, log: testLog(), credentials }),
  });
  deps = { ...harness.deps, backends };
});

afterAll(async () => {
  await deps?.backends.close();
  await node?.[Symbol.asyncDispose]();
  await harness?.drop();
});

async function settle(): Promise<void> {
  await checkDueNodes(deps, signal);
  while ((await reconcileDueVolumes(deps, 100, signal)) > 0);
}

async function read(volume: Volume): Promise<Volume> {
  const found = await harness.read(volume);
  if (found === null) throw new Error('The volume does not exist.');
  return found;
}

/** Mounts the volume as a machine of a rental. */
async function mount({ vip }: Volume, from: string): Promise<Nfs41Client> {
  const options = {
    host: vip,
    port: node.nfsPort,
    localAddress: from,
    clock: systemClock,
    timeoutMs: 120_000,
  };
  const client = await Nfs41Client.connect(options);
  await client.reclaimComplete();
  return client;
}

async function isLetIn(volume: Volume, from: string): Promise<boolean> {
  const client = await mount(volume, from);
  try {
    await client.lookup(exportPath);
    return true;
  } catch (error) {
    if (isNfsError(error, 'NOENT')) return false;
    throw error;
  } finally {
    await client.end();
  }
}

const link = (volume: Volume, ...rentals: readonly InsertedRental[]) => ({
  storageVolumeId: volume.wireId,
  rentalIds: rentals.map(({ wireId }) => wireId),
});

test('attached rentals share files, and the NFS server refuses detached and ended ones', async () => {
  const tenant = await harness.tenant();
  const addresses = [0, 1, 2, 3].map((index) => node.client(index));
  const [first = '', second = '', third = '', outsider = ''] = addresses;
  // A rental of two machines, and one of one.
  const gang = await harness.rental(tenant, { addresses: [first, second] });
  const single = await harness.rental(tenant, { addresses: [third] });
  const made = await harness.create(tenant);
  await settle();
  await harness.run((tx) => attachVolume(tx, tenant.call(), link(made, gang, single)));
  await settle();
  const volume = await read(made);
  expect(volume.status).toBe('active');

  const writer = await mount(volume, first);
  const file = await writer.open(exportPath, 'weights', true);
  await writer.write(file, 0, 'trained');
  const reader = await mount(volume, third);
  expect(String(await reader.read(await reader.open(exportPath, 'weights'), 0, 100))).toBe('trained');
  expect(await isLetIn(volume, second)).toBe(true);
  expect(await isLetIn(volume, outsider)).toBe(false);

  await harness.run((tx) => detachVolume(tx, tenant.call(), link(volume, single)));
  await settle();
  expect(await isLetIn(volume, third)).toBe(false);
  await expect(reader.lookup(exportPath)).rejects.toThrow('NOENT');
  expect(await writer.write(file, 0, 'goes on')).toBe(7);

  // The rental moved to another host with another address.
  await harness.onMachines(gang, `private_ip = case position when 1 then '${outsider}' end`);
  await harness.run((tx) => bumpSpecVersionsOfRental(tx, tenant.orgId, gang.id));
  await settle();
  expect(await isLetIn(volume, outsider)).toBe(true);
  expect(await isLetIn(volume, first)).toBe(false);
  await harness.run((tx) => detachRental(tx, tenant.orgId, gang.id, volumesActor));
  await settle();
  expect(await isLetIn(volume, outsider)).toBe(false);
  writer.drop();
  reader.drop();
});

test('a volume grows with its files in place, and its data is deleted after the retention', async () => {
  const tenant = await harness.tenant();
  const rental = await harness.rental(tenant, { addresses: [node.client(4)] });
  const made = await harness.create(tenant, { rentalIds: [rental.wireId] });
  await settle();
  const volume = await read(made);
  const client = await mount(volume, node.client(4));
  const file = await client.open(exportPath, 'data', true);
  await client.write(file, 0, 'kept');
  await harness.run((tx) => updateVolume(tx, tenant.call(), volume.wireId, { sizeInGb: 512 }));
  await settle();
  expect((await read(volume)).sizeGb).toBe(512);
  expect(String(await client.read(file, 0, 10))).toBe('kept');

  await harness.run((tx) => detachVolume(tx, tenant.call(), link(volume, rental)));
  await settle();
  await harness.run((tx) => deleteVolume(tx, tenant.call(), volume.wireId));
  await settle();
  expect(await isLetIn(volume, node.client(4))).toBe(false);
  await harness.clock.advance(73 * HOUR_MS);
  await settle();
  const backend = await connectVolumeBackend(
    { kind: 'nfs', endpoint: node.endpoint, credentialRef: 'node', settings: {} },
    { clock: systemClock, log: testLog('volumes'), credentials: { node: node.credential } },
  );
  await eventually({ what: 'the data to be deleted' }, async () => {
    await settle();
    const views = await backend.list(signal);
    return views.every(({ externalId }) => externalId !== toUuid(volume.id));
  });
  await backend.close();
  client.drop();
});
