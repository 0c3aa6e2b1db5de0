import type { Tx } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import type { SnapshotId } from '@millrace/platform/ids';
import {
  appendAuditEntry,
  authorizeCaller,
  type AuthorizedCaller,
  type CallContext,
} from '../../identity/index.ts';
import { requireVolumeAction } from './attach-rules.ts';
import { lockOwnVolume, requireUnattached } from './attach.service.ts';
import type { VolumeOrder } from './volume-order.ts';
import { acceptVolume } from './create.service.ts';
import { transitionVolume, emitVolumeEvent, bumpSpecVersion } from '../model/volume-transitions.ts';
import { lockStorageNodes } from '../model/storage-nodes.store.ts';
import { defaultVolumePolicy } from '../model/policy.ts';
import { createRestore, restoringReason } from './snapshot-restore.ts';
import { findSnapshot, listSnapshots } from '../model/snapshots.store.ts';
import { volumeResourceOf, volumesActor, type Snapshot, type Volume } from '../model/volume.ts';
import { findVolume, saveVolume } from '../model/volumes.store.ts';

export type RestoreRequest =
  | { readonly into: 'same-volume' }
  | {
      readonly into: 'new-volume';
      readonly wireId: number;
      /** Null means the size of the volume when the snapshot was taken. */
      readonly order: Omit<VolumeOrder, 'region' | 'sizeGb'> & { readonly sizeGb: number | null };
    };

/** Returns the target volume. Lock order: organisation, storage node, source volume, ledger. */
export async function restoreSnapshot(
  tx: Tx,
  call: CallContext,
  of: { readonly wireId: number; readonly snapshotId: SnapshotId },
  request: RestoreRequest,
): Promise<Volume> {
  const caller = await authorizeCaller(tx, call, 'volumes:write');
  const { orgId, cause } = call;
  const owner = { orgId, mode: caller.key.mode };
  const seen = await findVolume(tx, owner, of.wireId);
  // Volumes of others are reported as missing snapshots.
  if (seen === null) throw new Fault('SNAPSHOT_NOT_FOUND');
  if (request.into === 'new-volume') await lockStorageNodes(tx, { id: seen.nodeId });
  const source = await lockOwnVolume(tx, owner, of.wireId);
  const snapshot = await findSnapshot(tx, orgId, source.id, of.snapshotId);
  if (snapshot === null) throw new Fault('SNAPSHOT_NOT_FOUND');
  const restored =
    request.into === 'new-volume'
      ? await restoreIntoNew(tx, call, caller, { source, snapshot }, request)
      : await restoreInPlace(tx, call, source, snapshot);
  await appendAuditEntry(tx, orgId, cause, {
    action: 'snapshot.restored',
    resource: volumeResourceOf(source),
    after: { snapshotId: snapshot.id, intoStorageVolumeId: restored.wireId },
  });
  return restored;
}

function requireSnapshotReady({ status }: Snapshot): void {
  if (status === 'ready') return;
  throw new Fault('SNAPSHOT_NOT_READY', { message: `The snapshot is not ready. Its status is ${status}.` });
}

async function restoreIntoNew(
  tx: Tx,
  call: CallContext,
  caller: AuthorizedCaller,
  { source, snapshot }: { readonly source: Volume; readonly snapshot: Snapshot },
  request: RestoreRequest & { readonly into: 'new-volume' },
): Promise<Volume> {
  requireVolumeAction(source, 'restore-from');
  if (source.phase === 'purging') throw new Fault('VOLUME_NOT_ACTIVE');
  requireSnapshotReady(snapshot);
  const sizeGb = request.order.sizeGb ?? snapshot.volumeGb;
  if (sizeGb < snapshot.volumeGb) {
    throw invalidField(
      'sizeInGb',
      `must be at least ${snapshot.volumeGb}, the size of the snapshotted volume`,
    );
  }
  const order = { ...request.order, region: source.region, sizeGb };
  return acceptVolume(tx, call, caller, order, request.wireId, { snapshot, nodeId: source.nodeId });
}

/** The storage node replaces the content atomically. Until it confirms, nothing can be attached. */
async function restoreInPlace(
  tx: Tx,
  { cause }: CallContext,
  volume: Volume,
  snapshot: Snapshot,
): Promise<Volume> {
  requireVolumeAction(volume, 'restore-into');
  requireSnapshotReady(snapshot);
  await requireUnattached(tx, volume);
  if (volume.growth !== null) {
    throw new Fault('ACTION_IN_PROGRESS', { message: `The volume is growing to ${volume.growth.toGb} GB.` });
  }
  const others = await listSnapshots(tx, volume);
  if (others.some(({ status }) => status === 'creating')) {
    throw new Fault('ACTION_IN_PROGRESS', { message: 'A snapshot of the volume is being taken.' });
  }
  const reason = restoringReason(snapshot.id);
  const restoring = await transitionVolume(tx, volume, {
    to: 'inactive',
    reason,
    actor: cause.actor,
    changes: {
      restore: createRestore(tx, snapshot, defaultVolumePolicy.changeMs),
      ...bumpSpecVersion(volume, tx.clock.now()),
    },
  });
  await emitVolumeEvent(tx, restoring, {
    type: 'volume.inactive',
    actor: cause.actor,
    data: { reason, purgeAt: null },
  });
  return restoring;
}

/** Records the reported outcome; with `failure` the volume has its old content. A live volume becomes usable either way. */
export async function endRestore(tx: Tx, volume: Volume, failure: string | null): Promise<Volume> {
  const { restore } = volume;
  if (restore === null) return volume;
  const isBack = volume.phase === 'live' && volume.status === 'inactive';
  const ended = isBack
    ? await transitionVolume(tx, volume, {
        to: 'active',
        reason: failure,
        actor: volumesActor,
        changes: { restore: null },
      })
    : await saveVolume(tx, volume, { restore: null, updatedAt: tx.clock.now() });
  await emitRestoreEvent(tx, ended, restore.snapshotId, failure);
  if (isBack) await emitVolumeEvent(tx, ended, { type: 'volume.active', actor: volumesActor, data: {} });
  return ended;
}

export async function emitRestoreEvent(
  tx: Tx,
  volume: Volume,
  snapshotId: SnapshotId,
  failure: string | null,
): Promise<void> {
  const actor = volumesActor;
  if (failure === null) {
    await emitVolumeEvent(tx, volume, { type: 'volume.restored', actor, data: { snapshotId } });
  } else {
    const data = { snapshotId, reason: failure };
    await emitVolumeEvent(tx, volume, { type: 'volume.restore_failed', actor, data });
  }
}
