import type { Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import type { RentalId } from '@millrace/platform/ids';
import { appendAuditEntry, authorizeCaller, type CallContext, type TenantRef } from '../../identity/index.ts';
import { isWireId, lockRentals, type LockedRental } from '../../rental-lookup/index.ts';
import { requireVolumeAction, requireRentals } from './attach-rules.ts';
import {
  endAttachments,
  insertAttachments,
  listAttachedRentals,
  listSharedAddresses,
  type AttachedRental,
} from '../model/attachments.store.ts';
import { emitVolumeEvent, bumpSpecVersion } from '../model/volume-transitions.ts';
import { volumeResourceOf, type Volume } from '../model/volume.ts';
import { findVolume, lockVolume, saveVolume } from '../model/volumes.store.ts';

/** Attaches and detaches volumes. The rows change at once; the storage server is updated right afterwards. */

/** Locks a volume of the caller in the mode of its key. Absent volumes and those of others give the same error. */
export async function lockOwnVolume(tx: Tx, owner: TenantRef, wireId: number): Promise<Volume> {
  const found = await findVolume(tx, owner, wireId);
  const volume = found === null ? null : await lockVolume(tx, owner.orgId, found.id);
  if (volume === null || volume.phase === 'purged') throw new Fault('VOLUME_NOT_FOUND');
  return volume;
}

/** Refuses actions on an attached volume and names the rentals. */
export async function requireUnattached(tx: Tx, volume: Volume): Promise<void> {
  const holders = (await listAttachedRentals(tx, volume.orgId, [volume.id])).get(volume.id) ?? [];
  if (holders.length === 0) return;
  const [first, ...others] = holders.map(({ wireId }) => wireId);
  const named =
    others.length === 0
      ? `rental ${first}`
      : `rentals ${[first, ...others].slice(0, LISTED_RENTALS_MAX).join(', ')}`;
  const more = holders.length > LISTED_RENTALS_MAX ? ` and ${holders.length - LISTED_RENTALS_MAX} more` : '';
  throw new Fault('VOLUME_ATTACHED', { message: `The volume is attached to ${named}${more}.` });
}

const LISTED_RENTALS_MAX = 20;

export interface AttachmentRequest {
  readonly storageVolumeId: number;
  readonly rentalIds: readonly number[];
}

/** Attaches to all of these rentals or to none. Idempotent. Lock order: organisation, rentals, volume. */
export async function attachVolume(
  tx: Tx,
  call: CallContext,
  request: AttachmentRequest,
): Promise<readonly number[]> {
  const { key } = await authorizeCaller(tx, call, 'volumes:write');
  const { orgId, cause } = call;
  const owner = { orgId, mode: key.mode };
  const requested = [...new Set(request.rentalIds)];
  // Rentals are locked first, as when a rental ends. A missing volume is reported before a missing rental.
  const rentals = await lockRentals(tx, orgId, key.mode, requested.filter(isWireId));
  const volume = await lockOwnVolume(tx, owner, request.storageVolumeId);
  requireVolumeAction(volume, 'attach');
  requireRentals(rentals, requested, volume.region);
  const attached = await attachRentals(tx, volume, rentals, cause.actor);
  const rentalIds = rentals.map(({ wireId }) => wireId).toSorted((one, other) => one - other);
  if (attached.version !== volume.version) {
    await appendAuditEntry(tx, orgId, cause, {
      action: 'volume.attached',
      resource: volumeResourceOf(volume),
      after: { rentalIds },
    });
  }
  return rentalIds;
}

/** For a volume and rentals that were checked and locked by the caller. */
export async function attachRentals(
  tx: Tx,
  volume: Volume,
  rentals: readonly Pick<LockedRental, 'id' | 'wireId'>[],
  actor: Actor,
): Promise<Volume> {
  const fresh = new Set(
    await insertAttachments(
      tx,
      volume,
      rentals.map(({ id }) => id),
    ),
  );
  if (fresh.size === 0) return volume;
  await requireUnsharedAddresses(tx, volume, [...fresh]);
  const changed = await saveVolume(tx, volume, {
    updatedAt: tx.clock.now(),
    ...bumpSpecVersion(volume, tx.clock.now()),
  });
  const rentalIds = rentals.filter(({ id }) => fresh.has(id)).map(({ wireId }) => wireId);
  await emitVolumeEvent(tx, changed, { type: 'volume.attached', actor, data: { rentalIds } });
  return changed;
}

/** Storage servers identify machines by address, so a machine with a shared address cannot be admitted. */
async function requireUnsharedAddresses(
  tx: Tx,
  volume: Pick<Volume, 'orgId'>,
  rentalIds: readonly RentalId[],
): Promise<void> {
  const [shared] = await listSharedAddresses(tx, volume.orgId, rentalIds);
  if (shared === undefined) return;
  const { rentalWireId, address } = shared;
  throw new Fault('ATTACH_NOT_SUPPORTED', {
    message: `Rental ${rentalWireId} cannot attach a volume: another machine of the region that has or had a volume has the same private address, ${address}.`,
    suggestion: 'Attach the volume to another rental, or order a new rental with it.',
  });
}

/** Detaches from all of these rentals or from none. The storage server refuses their machines afterwards. */
export async function detachVolume(
  tx: Tx,
  call: CallContext,
  request: AttachmentRequest,
): Promise<readonly number[]> {
  const { key } = await authorizeCaller(tx, call, 'volumes:write');
  const { orgId, cause } = call;
  const volume = await lockOwnVolume(tx, { orgId, mode: key.mode }, request.storageVolumeId);
  requireVolumeAction(volume, 'detach');
  const holders = (await listAttachedRentals(tx, orgId, [volume.id])).get(volume.id) ?? [];
  const requested = new Set(request.rentalIds);
  const found = holders.filter(({ wireId }) => requested.has(wireId));
  if (found.length < requested.size) throw new Fault('VOLUME_NOT_ATTACHED');
  const ids = found.map(({ rentalId }) => rentalId);
  const { detached } = await detachRentals(tx, volume, ids, cause.actor);
  const rentalIds = detached.map(({ wireId }) => wireId);
  await appendAuditEntry(tx, orgId, cause, {
    action: 'volume.detached',
    resource: volumeResourceOf(volume),
    after: { rentalIds },
  });
  return rentalIds;
}

/** Detaches from these rentals, or from all, and emits an event if any was attached. */
export async function detachRentals(
  tx: Tx,
  volume: Volume,
  rentalIds: readonly RentalId[] | 'all',
  actor: Actor,
): Promise<{ readonly volume: Volume; readonly detached: readonly AttachedRental[] }> {
  const detached = await endAttachments(tx, volume, rentalIds);
  if (detached.length === 0) return { volume, detached };
  const changed = await saveVolume(tx, volume, {
    updatedAt: tx.clock.now(),
    ...bumpSpecVersion(volume, tx.clock.now()),
  });
  await emitVolumeEvent(tx, changed, {
    type: 'volume.detached',
    actor,
    data: { rentalIds: detached.map(({ wireId }) => wireId) },
  });
  return { volume: changed, detached };
}
