import { contract, type OperationId } from '@millrace/contract';
import { testIds, uniqueId } from '@millrace/testing';
import { toUuid } from '@millrace/platform/ids';
import type { SeededOrganisation } from '../../apps/api/src/fixture.ts';
import { metalOf, metalOrder, readyToRent } from './access.rentals.rows.ts';
import type { AccessRow } from './access.rows.ts';
import { plantedProvider } from './access.fleet.rows.ts';
import { call, type Input, type World } from './world.ts';

/** The rows of volumes. Nobody works on them here: what a worker would write is written past it. */

const { operations } = contract;
const nobodys = 2_147_483_647;

/** Labels are each one volume's. */
export const newVolume = () => ({
  region: plantedProvider.region,
  label: `data-${uniqueId()}`,
  sizeInGb: 256,
});

export const volumeAccessRows: Partial<Record<OperationId, AccessRow>> = {
  createStorageVolume: {
    own: async (world) => {
      await readyToStore(world, world.acme);
      const rentalId = await runningMetalOf(world, world.acme);
      return { body: { ...newVolume(), rentalIds: [rentalId] } };
    },
    others: {
      absent: { body: { ...newVolume(), rentalIds: [nobodys] } },
      foreign: async (world) => ({
        body: { ...newVolume(), rentalIds: [await runningMetalOf(world, world.other)] },
      }),
    },
  },
  createBareMetalRental: {
    own: (world) => metalWith(world, world.acme),
    others: {
      absent: metalOrderWith(nobodys),
      foreign: (world) => metalWith(world, world.other),
    },
  },
  listStorageVolumes: { own: async () => ({}), others: 'none' },
  quoteStorageVolume: {
    own: async (world) => {
      await readyToStore(world, world.acme);
      return { query: { region: plantedProvider.region, sizeInGb: '512' } };
    },
    others: 'none',
  },
  getStorageVolume: volumeRow(),
  attachStorageVolume: linkRow(linkOf),
  detachStorageVolume: linkRow(attachedOf),
  updateStorageVolume: volumeRow({ body: { sizeInGb: 512 } }),
  deleteStorageVolume: volumeRow(),
  createStorageVolumeSnapshot: volumeRow({ body: {} }),
  listStorageVolumeSnapshots: volumeRow(),
  adminWriteOffVolume: {
    caller: 'operator',
    own: async (world) => writeOffOf(await lostVolumeOf(world, world.other)),
    others: { absent: writeOffOf(nobodys), foreign: 'operators see all' },
  },
  deleteStorageVolumeSnapshot: {
    own: (world) => snapshotOf(world, world.acme),
    others: {
      absent: { params: { storageVolumeId: String(nobodys), snapshotId: testIds.next('snp') } },
      foreign: (world) => snapshotOf(world, world.other),
    },
  },
  restoreStorageVolumeSnapshot: {
    own: (world) => readySnapshotOf(world, world.acme),
    others: {
      absent: {
        params: { storageVolumeId: String(nobodys), snapshotId: testIds.next('snp') },
        body: { into: 'same-volume' },
      },
      foreign: (world) => readySnapshotOf(world, world.other),
    },
  },
};

function writeOffOf(storageVolumeId: number): Input {
  return {
    params: { storageVolumeId: String(storageVolumeId) },
    body: { reason: 'never came back', hostIsOff: true },
  };
}

/** One on a storage node of its own that does not answer. */
export async function lostVolumeOf(world: World, who: SeededOrganisation): Promise<number> {
  const volumeId = await volumeOf(world, who);
  const nodeId = toUuid(testIds.next('stn'));
  await past(
    world,
    `insert into storage_nodes (id, name, region, mode, kind, endpoint, settings, vip_first, vip_last, capacity_gb, status,
       status_since, next_look_at, created_at)
     values ($1, $2, $3, 'live', 'nfs', 'https://lost.example', '{}', '10.8.0.1', '10.8.255.254', 2000000000, 'silent',
       now(), now(), now())`,
    [nodeId, `lost-${uniqueId()}`.toLowerCase(), plantedProvider.region],
  );
  await past(world, 'update volumes set node_id = $1 where wire_id = $2', [nodeId, volumeId]);
  return volumeId;
}

function metalOrderWith(id: number): Input {
  return { body: { ...metalOrder.body, storageVolume: { isNew: false, id } } };
}

/** An order of bare metal with a volume that is there, and a host for it. */
async function metalWith(world: World, who: SeededOrganisation): Promise<Input> {
  await readyToRent(world, who, 'bare-metal');
  return metalOrderWith(await volumeOf(world, who));
}

/** What is asked of a volume and a rental that could have it. */
function linkRow(make: (world: World, who: SeededOrganisation) => Promise<Input>): AccessRow {
  return {
    own: (world) => make(world, world.acme),
    others: {
      absent: { body: { storageVolumeId: nobodys, rentalIds: [nobodys] } },
      foreign: (world) => make(world, world.other),
    },
  };
}

async function linkOf(world: World, who: SeededOrganisation): Promise<Input> {
  const storageVolumeId = await volumeOf(world, who);
  return { body: { storageVolumeId, rentalIds: [await runningMetalOf(world, who)] } };
}

async function attachedOf(world: World, who: SeededOrganisation): Promise<Input> {
  const link = await linkOf(world, who);
  const answer = await call(world, operations.attachStorageVolume, link, who.owner.key);
  if (answer.status !== 200) throw new Error(answer.text);
  return link;
}

function volumeRow(input: Input = {}): AccessRow {
  const of = (id: number): Input => ({ ...input, params: { storageVolumeId: String(id) } });
  return {
    own: async (world) => of(await volumeOf(world, world.acme)),
    others: {
      absent: of(nobodys),
      foreign: async (world) => of(await volumeOf(world, world.other)),
    },
  };
}

async function past(world: World, text: string, values: readonly unknown[] = []): Promise<void> {
  const client = await world.fixture.database.connect();
  await client.query(text, [...values]);
  await client.end();
}

/** A storage node that answered, a price for what it keeps, and money. */
export async function readyToStore(world: World, who: SeededOrganisation): Promise<void> {
  await past(
    world,
    `insert into storage_nodes (id, name, region, mode, kind, endpoint, settings, vip_first, vip_last, capacity_gb, status,
       status_since, seen_at, next_look_at, created_at)
     values ($1, 'planted', $2, 'live', 'nfs', 'https://planted.example', '{}', '10.8.0.1', '10.8.255.254', 2000000000,
       'connected', now(), now(), now(), now())
     on conflict (name) do nothing`,
    [toUuid(testIds.next('stn')), plantedProvider.region],
  );
  const operator = world.operator.owner.key;
  const price = {
    organisationId: null,
    subject: { kind: 'volume', region: plantedProvider.region },
    unit: 'gb_hour',
    priceNanoUsd: '137000',
    validFrom: '2026-01-01T00:00:00.000Z',
    reason: 'list price',
  };
  await call(world, operations.adminCreatePrice, { body: price }, operator);
  const params = { organisationId: who.organisation.id };
  const grant = { amountNanoUsd: '100000000000', reason: 'to store with' };
  const { status, text } = await call(world, operations.adminGrant, { params, body: grant }, operator);
  if (status !== 201) throw new Error(text);
}

/** One that is active, as far as its rows tell. */
export async function volumeOf(world: World, who: SeededOrganisation): Promise<number> {
  await readyToStore(world, who);
  const made = await call(world, operations.createStorageVolume, { body: newVolume() }, who.owner.key);
  if (made.status !== 200) throw new Error(made.text);
  const id = made.json.storageVolumeId as number;
  await past(
    world,
    `update volumes set phase = 'live', status = 'active', started_at = now() where wire_id = $1`,
    [id],
  );
  return id;
}

/** Bare metal that is up, as far as its rows tell. */
export async function runningMetalOf(world: World, who: SeededOrganisation): Promise<number> {
  const rentalId = await metalOf(world, who);
  await past(
    world,
    `update rentals set status = 'Running', task = null, task_deadline_at = null, power = 'on', started_at = now()
      where wire_id = $1`,
    [rentalId],
  );
  return rentalId;
}

async function snapshotOf(world: World, who: SeededOrganisation): Promise<Input> {
  const params = { storageVolumeId: String(await volumeOf(world, who)) };
  const input = { params, body: {} };
  const made = await call(world, operations.createStorageVolumeSnapshot, input, who.owner.key);
  if (made.status !== 202) throw new Error(made.text);
  return { params: { ...params, snapshotId: made.json.id as string } };
}

export async function readySnapshotOf(world: World, who: SeededOrganisation): Promise<Input> {
  const input = await snapshotOf(world, who);
  await past(
    world,
    `update volume_snapshots set status = 'ready', ready_at = now() where status = 'creating'`,
  );
  return { ...input, body: { into: 'same-volume' } };
}
