import type { Tx } from '@millrace/platform/db';
import { toUuid } from '@millrace/platform/ids';
import type { VolumeSpec } from '@millrace/storage';
import { detachRentals } from '../actions/attach.service.ts';
import { listClients, listEndedAttachedRentals } from '../model/attachments.store.ts';
import { spendingLimitEnd, volumeDueAction, nextVolumeCheckAt } from '../money/due-actions.ts';
import { cancelGrowth } from '../actions/growth.service.ts';
import { startRetention, purgeVolume, unfreezeVolume } from '../actions/lifecycle.service.ts';
import { releaseHold, volumeMetersOf } from '../money/volume-billing.service.ts';
import { bumpSpecVersion } from '../model/volume-transitions.ts';
import type { StorageNode } from '../model/storage-nodes.ts';
import { findStorageNode } from '../model/storage-nodes.store.ts';
import type { VolumePolicy } from '../model/policy.ts';
import { shouldRequestRestore } from '../actions/snapshot-restore.ts';
import { listSnapshots, saveSnapshot } from '../model/snapshots.store.ts';
import { volumesActor, type Restore, type Snapshot, type Volume, type VolumeRef } from '../model/volume.ts';
import { lockVolume, saveVolume } from '../model/volumes.store.ts';

/** A call to a backend, made outside any transaction. */
export type VolumeTask =
  | { readonly what: 'remove'; readonly volume: Volume; readonly node: StorageNode }
  | {
      readonly what: 'serve';
      readonly volume: Volume;
      readonly node: StorageNode;
      readonly spec: VolumeSpec;
      readonly make: readonly Snapshot[];
      readonly drop: readonly Snapshot[];
      /** Snapshots that failed here, but may exist on the backend. */
      readonly givenUp: readonly Snapshot[];
    };

/**
 * Applies due actions and returns the next call to the backend; null if there is none or the node is unreachable, which
 * the node checks detect. Clients are recorded before the backend may admit them.
 */
export async function planTask(tx: Tx, ref: VolumeRef, policy: VolumePolicy): Promise<VolumeTask | null> {
  const locked = await lockVolume(tx, ref.orgId, ref.id);
  if (locked === null || locked.phase === 'purged') return null;
  const current = await detachEndedRentals(tx, await applyVolumeDueAction(tx, locked, policy));
  const { volume, snapshots } = await failLateSnapshots(tx, current);
  const node = await findStorageNode(tx, volume.nodeId);
  const now = tx.clock.now();
  if (node === null || node.status !== 'connected' || !needsBackendCall(volume, snapshots)) {
    await saveVolume(tx, volume, { nextActionAt: await readNextCheckAt(tx, volume, snapshots, policy) });
    return null;
  }
  const nextActionAt = new Date(now.getTime() + policy.workingMs);
  if (volume.phase === 'purging') {
    return { what: 'remove', node, volume: await saveVolume(tx, volume, { nextActionAt }) };
  }
  const clients =
    volume.phase === 'live' || volume.phase === 'provisioning' ? await listClients(tx, volume) : [];
  const servedClients = [...new Set([...volume.servedClients, ...clients])];
  const saved = await saveVolume(tx, volume, { nextActionAt, servedClients });
  return {
    what: 'serve',
    node,
    volume: saved,
    spec: {
      externalId: toUuid(saved.id),
      orgId: saved.orgId,
      sizeGb: saved.growth?.toGb ?? saved.sizeGb,
      vip: saved.vip,
      clients,
      ...(saved.restore !== null && shouldRequestRestore(saved, now)
        ? { restore: toRestoreSpec(saved.restore) }
        : {}),
      // The version increases with each save, so that a backend can reject an outdated request.
      sequence: saved.version,
    },
    make: saved.phase === 'live' ? snapshots.filter(({ status }) => status === 'creating') : [],
    drop: snapshots.filter(({ status }) => status === 'deleting'),
    givenUp: snapshots.filter(({ status }) => status === 'failed'),
  };
}

function toRestoreSpec({ id, sourceId, snapshotId }: Restore): NonNullable<VolumeSpec['restore']> {
  return { id, volumeId: toUuid(sourceId), snapshotId: toUuid(snapshotId) };
}

/** Whether the backend has not confirmed everything. Node checks detect later differences. */
function needsBackendCall(volume: Volume, snapshots: readonly Snapshot[]): boolean {
  return (
    volume.phase === 'provisioning' ||
    volume.phase === 'purging' ||
    volume.status === 'unknown' ||
    volume.restore !== null ||
    volume.unhealthySince !== null ||
    volume.servedSeq < volume.specSeq ||
    snapshots.some(({ status }) => status === 'creating' || status === 'deleting')
  );
}

export async function readNextCheckAt(
  tx: Tx,
  volume: Volume,
  snapshots: readonly Snapshot[],
  policy: VolumePolicy,
): Promise<Date> {
  const cap = volume.maxNanoUsd === null ? null : spendingLimitEnd(volume, await volumeMetersOf(tx, volume));
  return nextVolumeCheckAt(volume, cap, snapshots, tx.clock.now(), policy);
}

async function applyVolumeDueAction(tx: Tx, volume: Volume, policy: VolumePolicy): Promise<Volume> {
  const cap = volume.maxNanoUsd === null ? null : spendingLimitEnd(volume, await volumeMetersOf(tx, volume));
  const due = volumeDueAction(volume, cap, tx.clock.now(), policy);
  const end = (reason: string) => ({ reason, actor: volumesActor });
  switch (due?.what) {
    case undefined:
      return volume;
    case 'give up making it':
      return purgeVolume(tx, volume, { ...end('Provisioning timed out.'), at: tx.clock.now() });
    case 'give up growing':
      return cancelGrowth(tx, volume, 'Growing the volume timed out.');
    case 'leave':
      return startRetention(tx, volume, {
        ...end('The spending limit (maxUsd) was reached.'),
        purgeAt: due.purgeAt,
        lateMs: due.lateMs,
      });
    case 'pay again':
      return (await unfreezeVolume(tx, volume)) ?? volume;
    case 'pay again or purge':
      return (
        (await unfreezeVolume(tx, volume)) ??
        purgeVolume(tx, volume, { ...end('The money held for the retention is used up.'), at: due.at })
      );
    case 'purge':
      return purgeVolume(tx, volume, { ...end('The retention ended.'), at: due.at });
  }
}

/** Detaches ended rentals, in case the end of a rental did not. */
async function detachEndedRentals(tx: Tx, volume: Volume): Promise<Volume> {
  const ended = await listEndedAttachedRentals(tx, volume);
  return ended.length === 0 ? volume : (await detachRentals(tx, volume, ended, volumesActor)).volume;
}

/** Late snapshots fail. The backend may still create one, so it is called once more. */
async function failLateSnapshots(
  tx: Tx,
  volume: Volume,
): Promise<{ readonly volume: Volume; readonly snapshots: readonly Snapshot[] }> {
  const now = tx.clock.now();
  const snapshots = await listSnapshots(tx, volume);
  const late = snapshots.filter(({ status, makeBy }) => status === 'creating' && makeBy <= now);
  if (late.length === 0) return { volume, snapshots };
  for (const snapshot of late)
    await failSnapshot(tx, volume, snapshot, 'The snapshot was not ready in time.');
  return {
    volume: await saveVolume(tx, volume, bumpSpecVersion(volume, now)),
    snapshots: await listSnapshots(tx, volume),
  };
}

export async function failSnapshot(tx: Tx, volume: Volume, snapshot: Snapshot, why: string): Promise<void> {
  if (await saveSnapshot(tx, volume.orgId, snapshot, { status: 'failed', holdId: null, lastError: why })) {
    await releaseHold(tx, volume, snapshot.holdId);
  }
}
