import type { Reader, Tx } from '@millrace/platform/db';
import type { Actor, Mode } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import type { OrgId, RentalId } from '@millrace/platform/ids';
import { appendAuditEntry, type AuthorizedCaller, type CallContext } from '../../identity/index.ts';
import { attachRentals, detachRentals, lockOwnVolume } from './attach.service.ts';
import { requireVolumeAction } from './attach-rules.ts';
import {
  listAttachedVolumes,
  listAttachedRentals,
  listUnprovisioned,
  type AttachedVolumeRow,
} from '../model/attachments.store.ts';
import { acceptVolume } from './create.service.ts';
import { bumpSpecVersion } from '../model/volume-transitions.ts';
import { lockStorageNodes } from '../model/storage-nodes.store.ts';
import { volumeResourceOf } from '../model/volume.ts';
import { findVolume, lockVolume, lockVolumesOfRental, saveVolume } from '../model/volumes.store.ts';

export type StorageChoice =
  | { readonly isNew: false; readonly id: number }
  | { readonly isNew: true; readonly label: string; readonly sizeInGb: number };

export interface AttachingRental {
  readonly id: RentalId;
  readonly wireId: number;
  readonly region: string;
  readonly mode: Mode;
}

/** Takes the locks for attaching before those of hosts and the ledger, and reports a missing volume first. */
export async function lockStorage(
  tx: Tx,
  owner: { readonly orgId: OrgId; readonly mode: Mode; readonly region: string },
  choice: StorageChoice,
): Promise<void> {
  const { orgId, mode, region } = owner;
  if (choice.isNew) {
    await lockStorageNodes(tx, { mode, region });
    return;
  }
  const volume = await findVolume(tx, owner, choice.id);
  if (volume === null) throw new Fault('VOLUME_NOT_FOUND');
  await lockVolume(tx, orgId, volume.id);
}

/** Runs in the transaction that accepts the rental, after its rows were inserted. */
export async function attachAtCreate(
  tx: Tx,
  call: CallContext,
  caller: AuthorizedCaller,
  rental: AttachingRental,
  choice: StorageChoice,
  newVolumeWireId: number | null,
): Promise<void> {
  if (!caller.scopes.has('volumes:write')) throw new Fault('INSUFFICIENT_SCOPE');
  const { orgId, cause } = call;
  if (choice.isNew) {
    if (newVolumeWireId === null) throw new Error('A new volume needs an id.');
    const { label, sizeInGb: sizeGb } = choice;
    const order = { region: rental.region, label, sizeGb, name: null, tags: {}, maxUsd: null };
    const volume = await acceptVolume(tx, call, caller, order, newVolumeWireId);
    await attachRentals(tx, volume, [rental], cause.actor);
    return;
  }
  const volume = await lockOwnVolume(tx, { orgId, mode: rental.mode }, choice.id);
  requireVolumeAction(volume, 'attach');
  if (volume.region !== rental.region) throw new Fault('REGION_MISMATCH');
  await attachRentals(tx, volume, [rental], cause.actor);
  await appendAuditEntry(tx, orgId, cause, {
    action: 'volume.attached',
    resource: volumeResourceOf(volume),
    after: { rentalIds: [rental.wireId] },
  });
}

export async function detachRental(tx: Tx, orgId: OrgId, rentalId: RentalId, actor: Actor): Promise<void> {
  for (const volume of await lockVolumesOfRental(tx, orgId, rentalId)) {
    await detachRentals(tx, volume, [rentalId], actor);
  }
}

/** The private addresses of the rental's machines changed, so the client lists of its volumes must be sent again. */
export async function bumpSpecVersionsOfRental(tx: Tx, orgId: OrgId, rentalId: RentalId): Promise<void> {
  for (const volume of await lockVolumesOfRental(tx, orgId, rentalId)) {
    await saveVolume(tx, volume, bumpSpecVersion(volume, tx.clock.now()));
  }
}

/** The storage that a rental was ordered with. `failed` and `ready` are final. */
export type OrderedStorage =
  | { readonly state: 'ready' }
  | { readonly state: 'pending' }
  | { readonly state: 'failed'; readonly why: string };

/** Whether the ordered volumes are usable. A rental is neither started nor billed before. */
export async function readOrderedStorage(
  reader: Reader,
  orgId: OrgId,
  id: RentalId,
): Promise<OrderedStorage> {
  const volumes = await listUnprovisioned(reader, orgId, id);
  const failed = volumes.find(({ isGivenUp }) => isGivenUp);
  if (failed !== undefined) {
    const why = failed.endReason ?? 'The volume could not be provisioned.';
    return { state: 'failed', why: `The volume ${failed.label} is not available. ${why}` };
  }
  return { state: volumes.length === 0 ? 'ready' : 'pending' };
}

export type AttachedVolume = Omit<AttachedVolumeRow['volume'], 'id'> & {
  readonly attachedRentalIds: readonly number[];
};

/** The attached volumes of each rental, as rental records show them. Rentals without volumes are missing. */
export async function readAttachedVolumesOf(
  reader: Reader,
  orgId: OrgId,
  rentalIds: readonly RentalId[],
): Promise<ReadonlyMap<RentalId, readonly AttachedVolume[]>> {
  const rows = await listAttachedVolumes(reader, orgId, rentalIds);
  const holders = await listAttachedRentals(reader, orgId, [...new Set(rows.map(({ volume }) => volume.id))]);
  const attached = new Map<RentalId, AttachedVolume[]>();
  for (const { rentalId, volume } of rows) {
    const { id, ...shown } = volume;
    const attachedRentalIds = (holders.get(id) ?? []).map(({ wireId }) => wireId);
    const known = attached.get(rentalId) ?? [];
    known.push({ ...shown, attachedRentalIds });
    attached.set(rentalId, known);
  }
  return attached;
}
