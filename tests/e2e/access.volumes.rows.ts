import { contract, type OperationId } from '@millrace/contract';
import { testIds, uniqueId } from '@millrace/testing';
import { toUuid } from '@millrace/platform/ids';
import type { SeededOrganisation } from '../../apps/api/src/api.fixture.ts';
import { createAcceptedBareMetal, bareMetalRequest, prepareToRent } from './access.rentals.rows.ts';
import type { AccessRow } from './access.rows.ts';
import { insertedProvider } from './access.fleet.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** The rows of volumes. Nobody works on them here: what a worker would write is written past it. */

const { operations } = contract;
const unusedVolumeId = 2_147_483_647;

/** Labels are each one volume's. */
export const newVolume = () => ({
  region: insertedProvider.region,
  label: `data-${uniqueId()}`,
  sizeInGb: 256,
});

export const volumeAccessRows: Partial<Record<OperationId, AccessRow>> = {
  createStorageVolume: {
    own: async (world) => {
      await prepareToStore(world, world.acme);
      const rentalId = await createRunningBareMetal(world, world.acme);
      return { body: { ...newVolume(), rentalIds: [rentalId] } };
    },
    others: {
      absent: { body: { ...newVolume(), rentalIds: [unusedVolumeId] } },
      foreign: async (world) => ({
        body: { ...newVolume(), rentalIds: [await createRunningBareMetal(world, world.other)] },
      }),
    },
  },
  createBareMetalRental: {
    own: (world) => bareMetalWithVolume(world, world.acme),
    others: {
      absent: bareMetalRequestWith(unusedVolumeId),
      foreign: (world) => bareMetalWithVolume(world, world.other),
    },
  },
  listStorageVolumes: { own: async () => ({}), others: 'none' },
  quoteStorageVolume: {
    own: async (world) => {
      await prepareToStore(world, world.acme);
      return { query: { region: insertedProvider.region, sizeInGb: '512' } };
    },
    others: 'none',
  },
  getStorageVolume: volumeRow(),
  attachStorageVolume: attachmentRow(createAttachable),
  detachStorageVolume: attachmentRow(createAttached),
  updateStorageVolume: volumeRow({ body: { sizeInGb: 512 } }),
  deleteStorageVolume: volumeRow(),
  createStorageVolumeSnapshot: volumeRow({ body: {} }),
  listStorageVolumeSnapshots: volumeRow(),
  adminWriteOffVolume: {
    caller: 'operator',
    own: async (world) => writeOffInput(await createUnreachableVolume(world, world.other)),
    others: { absent: writeOffInput(unusedVolumeId), foreign: 'operators see all' },
  },
  deleteStorageVolumeSnapshot: {
    own: (world) => createSnapshot(world, world.acme),
    others: {
      absent: { params: { storageVolumeId: String(unusedVolumeId), snapshotId: testIds.next('snp') } },
      foreign: (world) => createSnapshot(world, world.other),
    },
  },
  restoreStorageVolumeSnapshot: {
    own: (world) => createReadySnapshot(world, world.acme),
    others: {
      absent: {
        params: { storageVolumeId: String(unusedVolumeId), snapshotId: testIds.next('snp') },
        body: { into: 'same-volume' },
      },
      foreign: (world) => createReadySnapshot(world, world.other),
    },
  },
};

function writeOffInput(storageVolumeId: number): CallInput {
  return {
    params: { storageVolumeId: String(storageVolumeId) },
    body: { reason: 'never came back', hostIsOff: true },
  };
}

/** One on a storage node of its own that does not answer. */
export async function createUnreachableVolume(world: Harness, who: SeededOrganisation): Promise<number> {
  const volumeId = await createActiveVolume(world, who);
  const nodeId = toUuid(testIds.next('stn'));
  await runSql(
    world,
    `insert into storage_nodes (id, name, region, mode, kind, endpoint, settings, vip_first, vip_last, capacity_gb, status,
       status_since, next_look_at, created_at)
     values ($1, $2, $3, 'live', 'nfs', 'https://lost.example', '{}', '10.8.0.1', '10.8.255.254', 2000000000, 'silent',
       now(), now(), now())`,
    [nodeId, `lost-${uniqueId()}`.toLowerCase(), insertedProvider.region],
  );
  await runSql(world, 'update volumes set node_id = $1 where wire_id = $2', [nodeId, volumeId]);
  return volumeId;
}

function bareMetalRequestWith(id: number): CallInput {
  return { body: { ...bareMetalRequest.body, storageVolume: { isNew: false, id } } };
}

/** An order of bare metal with a volume that is there, and a host for it. */
async function bareMetalWithVolume(world: Harness, who: SeededOrganisation): Promise<CallInput> {
  await prepareToRent(world, who, 'bare-metal');
  return bareMetalRequestWith(await createActiveVolume(world, who));
}

/** What is asked of a volume and a rental that could have it. */
function attachmentRow(make: (world: Harness, who: SeededOrganisation) => Promise<CallInput>): AccessRow {
  return {
    own: (world) => make(world, world.acme),
    others: {
      absent: { body: { storageVolumeId: unusedVolumeId, rentalIds: [unusedVolumeId] } },
      foreign: (world) => make(world, world.other),
    },
  };
}

async function createAttachable(world: Harness, who: SeededOrganisation): Promise<CallInput> {
  const storageVolumeId = await createActiveVolume(world, who);
  return { body: { storageVolumeId, rentalIds: [await createRunningBareMetal(world, who)] } };
}

async function createAttached(world: Harness, who: SeededOrganisation): Promise<CallInput> {
  const link = await createAttachable(world, who);
  const answer = await callOperation(world, operations.attachStorageVolume, link, who.owner.key);
  if (answer.status !== 200) throw new Error(answer.text);
  return link;
}

function volumeRow(input: CallInput = {}): AccessRow {
  const of = (id: number): CallInput => ({ ...input, params: { storageVolumeId: String(id) } });
  return {
    own: async (world) => of(await createActiveVolume(world, world.acme)),
    others: {
      absent: of(unusedVolumeId),
      foreign: async (world) => of(await createActiveVolume(world, world.other)),
    },
  };
}

async function runSql(world: Harness, text: string, values: readonly unknown[] = []): Promise<void> {
  const client = await world.fixture.database.connect();
  await client.query(text, [...values]);
  await client.end();
}

/** A storage node that answered, a price for what it keeps, and money. */
export async function prepareToStore(world: Harness, who: SeededOrganisation): Promise<void> {
  await runSql(
    world,
    `insert into storage_nodes (id, name, region, mode, kind, endpoint, settings, vip_first, vip_last, capacity_gb, status,
       status_since, seen_at, next_look_at, created_at)
     values ($1, 'planted', $2, 'live', 'nfs', 'https://planted.example', '{}', '10.8.0.1', '10.8.255.254', 2000000000,
       'connected', now(), now(), now(), now())
     on conflict (name) do nothing`,
    [toUuid(testIds.next('stn')), insertedProvider.region],
  );
  const operator = world.operator.owner.key;
  const price = {
    organisationId: null,
    subject: { kind: 'volume', region: insertedProvider.region },
    unit: 'gb_hour',
    priceNanoUsd: '137000',
    validFrom: '2026-01-01T00:00:00.000Z',
    reason: 'list price',
  };
  await callOperation(world, operations.adminCreatePrice, { body: price }, operator);
  const params = { organisationId: who.organisation.id };
  const grant = { amountNanoUsd: '100000000000', reason: 'to store with' };
  const { status, text } = await callOperation(
    world,
    operations.adminGrant,
    { params, body: grant },
    operator,
  );
  if (status !== 201) throw new Error(text);
}

/** One that is active, as far as its rows tell. */
export async function createActiveVolume(world: Harness, who: SeededOrganisation): Promise<number> {
  await prepareToStore(world, who);
  const made = await callOperation(
    world,
    operations.createStorageVolume,
    { body: newVolume() },
    who.owner.key,
  );
  if (made.status !== 200) throw new Error(made.text);
  const id = made.json.storageVolumeId as number;
  await runSql(
    world,
    `update volumes set phase = 'live', status = 'active', started_at = now() where wire_id = $1`,
    [id],
  );
  return id;
}

/** Bare metal that is up, as far as its rows tell. */
export async function createRunningBareMetal(world: Harness, who: SeededOrganisation): Promise<number> {
  const rentalId = await createAcceptedBareMetal(world, who);
  await runSql(
    world,
    `update rentals set status = 'Running', task = null, task_deadline_at = null, power = 'on', started_at = now()
      where wire_id = $1`,
    [rentalId],
  );
  return rentalId;
}

async function createSnapshot(world: Harness, who: SeededOrganisation): Promise<CallInput> {
  const params = { storageVolumeId: String(await createActiveVolume(world, who)) };
  const input = { params, body: {} };
  const made = await callOperation(world, operations.createStorageVolumeSnapshot, input, who.owner.key);
  if (made.status !== 202) throw new Error(made.text);
  return { params: { ...params, snapshotId: made.json.id as string } };
}

export async function createReadySnapshot(world: Harness, who: SeededOrganisation): Promise<CallInput> {
  const input = await createSnapshot(world, who);
  await runSql(
    world,
    `update volume_snapshots set status = 'ready', ready_at = now() where status = 'creating'`,
  );
  return { ...input, body: { into: 'same-volume' } };
}
