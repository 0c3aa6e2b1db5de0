import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import { addUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { appendAuditEntry, type AuditContext } from '../../identity/index.ts';
import { costAt } from '../../metering/index.ts';
import { listAttachedRentals } from '../model/attachments.store.ts';
import { purgeVolume } from './lifecycle.service.ts';
import { volumeMetersOf } from '../money/volume-billing.service.ts';
import type { StorageNode } from '../model/storage-nodes.ts';
import { findStorageNode } from '../model/storage-nodes.store.ts';
import { markPurged } from '../model/volume-transitions.ts';
import { volumeResourceOf, type Volume } from '../model/volume.ts';
import { findAnyVolume, lockVolume } from '../model/volumes.store.ts';

/** Writes off volumes of a storage node that never returns, because no node can confirm their deletion. */

export interface VolumeWriteOff {
  readonly volume: Volume;
  readonly billingStoppedAt: Date | null;
  readonly finalCost: NanoUsd;
  readonly detachedRentalIds: readonly number[];
}

const LOST_REASON = 'The storage node is lost and will not return. The data is lost.';

/** An operator declares the data of a volume lost. Charges after the last response of its node are refunded. Idempotent. */
export async function writeOffVolume(
  tx: Tx,
  cause: AuditContext,
  request: { readonly storageVolumeId: number; readonly reason: string },
): Promise<VolumeWriteOff> {
  const found = await findAnyVolume(tx, request.storageVolumeId);
  const volume = found === null ? null : await lockVolume(tx, found.orgId, found.id);
  if (volume === null) throw new Fault('VOLUME_NOT_FOUND');
  if (volume.phase === 'purged') return volumeWriteOffResult(tx, volume, []);
  const node = await findStorageNode(tx, volume.nodeId);
  if (node !== null && node.status !== 'silent') throw new Fault('HOST_ANSWERS');
  const holders = (await listAttachedRentals(tx, volume.orgId, [volume.id])).get(volume.id) ?? [];
  const purging =
    volume.phase === 'purging'
      ? volume
      : await purgeVolume(tx, volume, {
          reason: LOST_REASON,
          actor: cause.actor,
          at: lastAnsweredAtOf(tx, volume, node),
        });
  const purged = await markPurged(tx, purging, cause.actor);
  const detached = holders.map(({ wireId }) => wireId);
  const result = await volumeWriteOffResult(tx, purged, detached);
  await appendAuditEntry(tx, volume.orgId, cause, {
    action: 'volume.written_off',
    resource: volumeResourceOf(volume),
    before: { status: volume.status, phase: volume.phase },
    after: { rentalIds: detached, finalCostNanoUsd: String(result.finalCost) },
    reason: request.reason,
  });
  return result;
}

/** The last response of its storage node, but not before the volume was usable. */
function lastAnsweredAtOf(tx: Tx, { startedAt, createdAt }: Volume, node: StorageNode | null): Date {
  const now = tx.clock.now();
  const seenAt = node?.seenAt ?? now;
  const from = startedAt ?? createdAt;
  if (seenAt < from) return from;
  return seenAt < now ? seenAt : now;
}

async function volumeWriteOffResult(
  tx: Tx,
  volume: Volume,
  detachedRentalIds: readonly number[],
): Promise<VolumeWriteOff> {
  const meters = await volumeMetersOf(tx, volume);
  const stops = meters.flatMap(({ closedAt }) => (closedAt === null ? [] : [closedAt.getTime()]));
  const at = stops.length === 0 ? null : new Date(Math.max(...stops));
  const costs = meters.map((meter) => costAt(meter, at ?? tx.clock.now()));
  return { volume, billingStoppedAt: at, finalCost: addUsd(zeroUsd, ...costs), detachedRentalIds };
}
