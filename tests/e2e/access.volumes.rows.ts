import { contract, type OperationId } from '@millrace/contract';
import type { SeededOrganisation } from '@millrace/core/fixture';
import { testIds, uniqueId } from '@millrace/testing';
import { toUuid } from '@millrace/platform/ids';
import { createAcceptedBareMetal, bareMetalRequest, prepareToRent } from './access.rentals.rows.ts';
import type { AccessRow } from './access.rows.ts';
import { insertedProvider } from './access.fleet.rows.ts';
import { callOperation, type CallInput, type Harness } from './harness.ts';

/** Access rows of volumes. No worker runs, so its changes are written directly to the database. */

const { operations } = contract;
const unusedVolumeId = 2_147_483_647;

/** Labels are unique per organisation. */
export const newVolume = () => ({
  region: insertedProvider.region,
  label: `data-${uniqueId()}`,
  sizeInGb: 256,
});

export const volumeAccessRows: Partial<Record<OperationId, AccessRow>> = {
  createStorageVolume: {
    own: async (harness) => {
      await prepareToStore(harness, harness.acme);
      const rentalId = await createRunningBareMetal(harness, harness.acme);
      return { body: { ...newVolume(), rentalIds: [rentalId] } };
    },
    others: {
      absent: { body: { ...newVolume(), rentalIds: [unusedVolumeId] } },
      foreign: async (harness) => ({
        body: { ...newVolume(), rentalIds: [await createRunningBareMetal(harness, harness.other)] },
      }),
    },
  },
  createBareMetalRental: {
    own: (harness) => bareMetalWithVolume(harness, harness.acme),
    others: {
      absent: bareMetalRequestWith(unusedVolumeId),
      foreign: (harness) => bareMetalWithVolume(harness, harness.other),
    },
  },
  listStorageVolumes: { own: async () => ({}), others: 'none' },
  quoteStorageVolume: {
    own: async (harness) => {
      await prepareToStore(harness, harness.acme);
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
    own: async (harness) => writeOffInput(await createUnreachableVolume(harness, harness.other)),
    others: { absent: writeOffInput(unusedVolumeId), foreign: 'operators see all' },
  },
  deleteStorageVolumeSnapshot: {
    own: (harness) => createSnapshot(harness, harness.acme),
    others: {
      absent: { params: { storageVolumeId: String(unusedVolumeId), snapshotId: testIds.next('snp') } },
      foreign: (harness) => createSnapshot(harness, harness.other),
    },
  },
  restoreStorageVolumeSnapshot: {
    own: (harness) => createReadySnapshot(harness, harness.acme),
    others: {
      absent: {
        params: { storageVolumeId: String(unusedVolumeId), snapshotId: testIds.next('snp') },
        body: { into: 'same-volume' },
      },
      foreign: (harness) => createReadySnapshot(harness, harness.other),
    },
  },
};

function writeOffInput(storageVolumeId: number): CallInput {
  return {
    params: { storageVolumeId: String(storageVolumeId) },
    body: { reason: 'never came back', hostIsOff: true },
  };
}

export async function createUnreachableVolume(harness: Harness, who: SeededOrganisation): Promise<number> {
  const volumeId = await createActiveVolume(harness, who);
  const nodeId = toUuid(testIds.next('stn'));
  await runSql(
    harness,
    `insert into storage_nodes (id, name, region, mode, kind, endpoint, settings, vip_first, vip_last, capacity_gb, status,
       status_since, next_look_at, created_at)
     values ($1, $2, $3, 'live', 'nfs', 'https://lost.example', '{}', '10.8.0.1', '10.8.255.254', 2000000000, 'silent',
       now(), now(), now())`,
    [nodeId, `lost-${uniqueId()}`.toLowerCase(), insertedProvider.region],
  );
  await runSql(harness, 'update volumes set node_id = $1 where wire_id = $2', [nodeId, volumeId]);
  return volumeId;
}

function bareMetalRequestWith(id: number): CallInput {
  return { body: { ...bareMetalRequest.body, storageVolume: { isNew: false, id } } };
}

/** A bare-metal order with an active volume, and a host for it. */
async function bareMetalWithVolume(harness: Harness, who: SeededOrganisation): Promise<CallInput> {
  await prepareToRent(harness, who, 'bare-metal');
  return bareMetalRequestWith(await createActiveVolume(harness, who));
}

function attachmentRow(make: (harness: Harness, who: SeededOrganisation) => Promise<CallInput>): AccessRow {
  return {
    own: (harness) => make(harness, harness.acme),
    others: {
      absent: { body: { storageVolumeId: unusedVolumeId, rentalIds: [unusedVolumeId] } },
      foreign: (harness) => make(harness, harness.other),
    },
  };
}

async function createAttachable(harness: Harness, who: SeededOrganisation): Promise<CallInput> {
  const storageVolumeId = await createActiveVolume(harness, who);
  return { body: { storageVolumeId, rentalIds: [await createRunningBareMetal(harness, who)] } };
}

async function createAttached(harness: Harness, who: SeededOrganisation): Promise<CallInput> {
  const link = await createAttachable(harness, who);
  const response = await callOperation(harness, operations.attachStorageVolume, link, who.owner.key);
  if (response.status !== 200) throw new Error(response.text);
  return link;
}

function volumeRow(input: CallInput = {}): AccessRow {
  const of = (id: number): CallInput => ({ ...input, params: { storageVolumeId: String(id) } });
  return {
    own: async (harness) => of(await createActiveVolume(harness, harness.acme)),
    others: {
      absent: of(unusedVolumeId),
      foreign: async (harness) => of(await createActiveVolume(harness, harness.other)),
    },
  };
}

async function runSql(harness: Harness, text: string, values: readonly unknown[] = []): Promise<void> {
  await harness.fixture.database.query(text, [...values]);
}

/** Inserts a connected storage node and a price, and grants credit. */
export async function prepareToStore(harness: Harness, who: SeededOrganisation): Promise<void> {
  await runSql(
    harness,
    `insert into storage_nodes (id, name, region, mode, kind, endpoint, settings, vip_first, vip_last, capacity_gb, status,
       status_since, seen_at, next_look_at, created_at)
     values ($1, 'planted', $2, 'live', 'nfs', 'https://planted.example', '{}', '10.8.0.1', '10.8.255.254', 2000000000,
       'connected', now(), now(), now(), now())
     on conflict (name) do nothing`,
    [toUuid(testIds.next('stn')), insertedProvider.region],
  );
  const operator = harness.operator.owner.key;
  const price = {
    organisationId: null,
    subject: { kind: 'volume', region: insertedProvider.region },
    unit: 'gb_hour',
    priceNanoUsd: '137000',
    validFrom: '2026-01-01T00:00:00.000Z',
    reason: 'list price',
  };
  await callOperation(harness, operations.adminCreatePrice, { body: price }, operator);
  const params = { organisationId: who.organisation.id };
  const grant = { amountNanoUsd: '100000000000', reason: 'to store with' };
  const { status, text } = await callOperation(
    harness,
    operations.adminGrant,
    { params, body: grant },
    operator,
  );
  if (status !== 201) throw new Error(text);
}

/** Creates a volume whose row says active. */
export async function createActiveVolume(harness: Harness, who: SeededOrganisation): Promise<number> {
  await prepareToStore(harness, who);
  const made = await callOperation(
    harness,
    operations.createStorageVolume,
    { body: newVolume() },
    who.owner.key,
  );
  if (made.status !== 200) throw new Error(made.text);
  const id = made.json.storageVolumeId as number;
  await runSql(
    harness,
    `update volumes set phase = 'live', status = 'active', started_at = now() where wire_id = $1`,
    [id],
  );
  return id;
}

/** Creates a bare-metal rental whose row says Running. */
export async function createRunningBareMetal(harness: Harness, who: SeededOrganisation): Promise<number> {
  const rentalId = await createAcceptedBareMetal(harness, who);
  await runSql(
    harness,
    `update rentals set status = 'Running', task = null, task_deadline_at = null, power = 'on', started_at = now()
      where wire_id = $1`,
    [rentalId],
  );
  return rentalId;
}

async function createSnapshot(harness: Harness, who: SeededOrganisation): Promise<CallInput> {
  const params = { storageVolumeId: String(await createActiveVolume(harness, who)) };
  const input = { params, body: {} };
  const made = await callOperation(harness, operations.createStorageVolumeSnapshot, input, who.owner.key);
  if (made.status !== 202) throw new Error(made.text);
  return { params: { ...params, snapshotId: made.json.id as string } };
}

export async function createReadySnapshot(harness: Harness, who: SeededOrganisation): Promise<CallInput> {
  const input = await createSnapshot(harness, who);
  await runSql(
    harness,
    `update volume_snapshots set status = 'ready', ready_at = now() where status = 'creating'`,
  );
  return { ...input, body: { into: 'same-volume' } };
}
