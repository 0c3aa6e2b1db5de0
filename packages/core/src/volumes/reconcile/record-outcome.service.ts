import { isDriverError, type DriverErrorKind } from '@millrace/compute';
import type { Tx } from '@millrace/platform/db';
import type { SnapshotId } from '@millrace/platform/ids';
import { retryDelayMs } from '@millrace/platform/loops';
import { floorDivide, timesUsd } from '@millrace/platform/money';
import type { VolumeView } from '@millrace/storage';
import { amountOf, type FrozenPrice } from '../../prices/index.ts';
import { cancelGrowth, applyGrowth } from '../actions/growth.service.ts';
import { purgeVolume } from '../actions/lifecycle.service.ts';
import { billSize, billSnapshot } from '../money/volume-billing.service.ts';
import {
  transitionVolume,
  emitVolumeEvent,
  bumpSpecVersion,
  markPurged,
  markReachable,
} from '../model/volume-transitions.ts';
import { silentForMs, type StorageNode } from '../model/storage-nodes.ts';
import { findStorageNode } from '../model/storage-nodes.store.ts';
import type { VolumePolicy } from '../model/policy.ts';
import { failSnapshot, readNextCheckAt, type VolumeTask } from './plan-volume.service.ts';
import { expireRestore } from '../actions/snapshot-restore.ts';
import { endRestore, emitRestoreEvent } from '../actions/snapshot-restore.service.ts';
import { listSnapshots, saveSnapshot } from '../model/snapshots.store.ts';
import { volumesActor, type Snapshot, type Volume } from '../model/volume.ts';
import { lockVolume, saveVolume } from '../model/volumes.store.ts';

/** Records the outcome of a call to a backend, under the lock of the volume. */

export type SnapshotOutcome =
  | { readonly made: true; readonly sizeBytes: number }
  | { readonly made: false; readonly error: unknown };

export type TaskOutcome =
  | {
      readonly ok: true;
      /** Null if the volume was removed. */
      readonly view: VolumeView | null;
      readonly made: ReadonlyMap<SnapshotId, SnapshotOutcome>;
      readonly dropped: readonly SnapshotId[];
    }
  | { readonly ok: false; readonly error: unknown };

/** Null if the volume is purged. */
export async function recordTaskOutcome(
  tx: Tx,
  task: VolumeTask,
  outcome: TaskOutcome,
  policy: VolumePolicy,
): Promise<Volume | null> {
  const volume = await lockVolume(tx, task.volume.orgId, task.volume.id);
  if (volume === null || volume.phase === 'purged') return null;
  if (!outcome.ok) return recordTaskFailure(tx, volume, task, outcome.error, policy);
  if (task.what === 'remove') return volume.phase === 'purging' ? markPurged(tx, volume) : volume;
  return outcome.view === null
    ? volume
    : recordServed(tx, volume, task, { ...outcome, view: outcome.view }, policy);
}

type ServeTask = VolumeTask & { readonly what: 'serve' };

async function recordServed(
  tx: Tx,
  seen: Volume,
  task: ServeTask,
  outcome: Extract<TaskOutcome, { ok: true }> & { readonly view: VolumeView },
  policy: VolumePolicy,
): Promise<Volume> {
  let volume = seen;
  const now = tx.clock.now();
  if (volume.phase === 'provisioning') volume = await activateVolume(tx, volume);
  else volume = await recordRestore(tx, volume, task, outcome.view);
  if (
    volume.growth !== null &&
    outcome.view.sizeGb >= volume.growth.toGb &&
    task.spec.sizeGb >= volume.growth.toGb
  ) {
    volume = await applyGrowth(tx, volume);
  }
  if (volume.status === 'unknown') volume = await markReachable(tx, volume);
  await recordSnapshots(tx, volume, task, { ...outcome, volumeGb: outcome.view.sizeGb });
  // The spec changed in the meantime, so the confirmed clients may include machines that must not be admitted.
  const isCurrentSpec = volume.specSeq === task.volume.specSeq;
  const snapshots = await listSnapshots(tx, volume);
  const isBusy =
    volume.restore !== null || snapshots.some(({ status }) => status === 'creating' || status === 'deleting');
  const soon = new Date(now.getTime() + policy.firstRetryMs);
  return saveVolume(tx, volume, {
    unhealthySince: null,
    tries: 0,
    lastError: null,
    ...(isCurrentSpec
      ? {
          servedSeq: volume.specSeq,
          servedClients: task.spec.clients,
          nextActionAt: isBusy ? soon : await readNextCheckAt(tx, volume, snapshots, policy),
        }
      : { nextActionAt: now }),
  });
}

const restoreFailedReason = 'The snapshot could not be restored. The volume keeps its previous content.';

/** The backend stores completed restores, so the outcome is known even if its response was lost. */
async function recordRestore(tx: Tx, volume: Volume, task: ServeTask, view: VolumeView): Promise<Volume> {
  const { restore } = volume;
  if (restore === null) return volume;
  if (view.restored.includes(restore.id)) return endRestore(tx, volume, null);
  // The backend has applied a later request without the restore, so it refuses the older one.
  const isGivenUp = task.spec.restore === undefined && task.volume.restore?.id === restore.id;
  return isGivenUp ? endRestore(tx, volume, restoreFailedReason) : volume;
}

async function activateVolume(tx: Tx, volume: Volume): Promise<Volume> {
  const now = tx.clock.now();
  await billSize(tx, volume, volume, now);
  const active = await transitionVolume(tx, volume, {
    to: 'active',
    reason: null,
    actor: volumesActor,
    changes: { phase: 'live', startedAt: now, holdId: null, restore: null },
  });
  if (volume.restore !== null) await emitRestoreEvent(tx, active, volume.restore.snapshotId, null);
  await emitVolumeEvent(tx, active, { type: 'volume.active', actor: volumesActor, data: {} });
  return active;
}

async function recordSnapshots(
  tx: Tx,
  volume: Volume,
  task: ServeTask,
  { made, dropped, volumeGb }: Extract<TaskOutcome, { ok: true }> & { readonly volumeGb: number },
): Promise<void> {
  const { orgId } = volume;
  for (const id of dropped) await saveSnapshot(tx, orgId, { id, status: 'deleting' }, { status: 'deleted' });
  for (const snapshot of task.make) {
    const outcome = made.get(snapshot.id);
    if (outcome === undefined || volume.phase !== 'live') continue;
    if (outcome.made)
      await recordSnapshotReady(tx, volume, snapshot, { sizeBytes: outcome.sizeBytes, volumeGb });
    else await noteSnapshotError(tx, volume, snapshot, outcome.error);
  }
}

const GIBIBYTE = 1_073_741_824;

/** Billed by the actual size, at most the size of the hold. */
async function recordSnapshotReady(
  tx: Tx,
  volume: Volume,
  snapshot: Snapshot,
  { sizeBytes, volumeGb }: { readonly sizeBytes: number; readonly volumeGb: number },
): Promise<void> {
  const sizeGb = Math.min(snapshot.sizeGb, Math.max(1, floorDivide(sizeBytes, GIBIBYTE)));
  const ready = { ...snapshot, sizeGb, price: priceOfSize(snapshot.price, sizeGb) };
  const changes = {
    status: 'ready',
    sizeGb,
    // The volume may have grown before the snapshot was taken.
    volumeGb: Math.max(snapshot.volumeGb, volumeGb),
    price: ready.price,
    holdId: null,
    lastError: null,
  } as const;
  // The snapshot may have been deleted or failed in the meantime.
  if (await saveSnapshot(tx, volume.orgId, snapshot, changes)) {
    await billSnapshot(tx, volume, ready, tx.clock.now());
  }
}

function priceOfSize(price: FrozenPrice, quantity: number): FrozenPrice {
  const rate = String(timesUsd(amountOf(price.unitNanoUsdPerHour), BigInt(quantity)));
  return { ...price, quantity, rateNanoUsdPerHour: rate, originalNanoUsdPerHour: rate };
}

async function noteSnapshotError(tx: Tx, volume: Volume, snapshot: Snapshot, error: unknown): Promise<void> {
  const why = errorMessageOf(error);
  if (isDriverError(error) && error.isFinal) await failSnapshot(tx, volume, snapshot, why);
  else await saveSnapshot(tx, volume.orgId, snapshot, { tries: snapshot.tries + 1, lastError: why });
}

const ERROR_MAX = 2_000;

export function errorMessageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, ERROR_MAX);
}

async function recordTaskFailure(
  tx: Tx,
  seen: Volume,
  task: VolumeTask,
  error: unknown,
  policy: VolumePolicy,
): Promise<Volume> {
  const now = tx.clock.now();
  const why = errorMessageOf(error);
  const isFinal = isDriverError(error) && finalErrorKinds.has(error.kind);
  if (isFinal && seen.phase === 'provisioning') {
    return purgeVolume(tx, seen, { reason: failedReason(error.kind), actor: volumesActor, at: now });
  }
  // The volume is still served; only the growth fails.
  const isGrowing = task.what === 'serve' && seen.growth !== null && task.spec.sizeGb >= seen.growth.toGb;
  if (isFinal && isGrowing)
    return cancelGrowth(tx, seen, 'The storage node has not enough free space for the volume to grow.');
  const isRestoring = task.what === 'serve' && task.spec.restore !== undefined;
  if (isFinal && isRestoring && seen.restore?.id === task.spec.restore?.id) {
    return saveVolume(tx, seen, {
      ...expireRestore(seen, now),
      lastError: why,
      ...bumpSpecVersion(seen, now),
    });
  }
  const volume = await saveVolume(tx, seen, {
    unhealthySince: seen.unhealthySince ?? now,
    tries: seen.tries + 1,
    lastError: why,
    nextActionAt: new Date(now.getTime() + retryDelayMs(policy, seen.tries + 1)),
  });
  const node = await findStorageNode(tx, volume.nodeId);
  return isUnansweredTooLong(volume, node, now, policy)
    ? markVolumeUnknown(tx, volume, 'The storage node does not respond for this volume.')
    : volume;
}

function failedReason(kind: DriverErrorKind): string {
  return kind === 'no_capacity'
    ? 'Provisioning failed: the storage node does not have enough free space.'
    : 'Provisioning failed: the storage node refused the volume.';
}

const finalErrorKinds: ReadonlySet<string> = new Set(['conflict', 'no_capacity', 'refused', 'unsupported']);

/** Calls have failed for as long as silence may last, while the node was observed. */
function isUnansweredTooLong(
  volume: Volume,
  node: StorageNode | null,
  now: Date,
  { silentMs }: VolumePolicy,
): boolean {
  const { status, unhealthySince } = volume;
  if (status !== 'active' || unhealthySince === null || node === null) return false;
  return silentForMs({ seenAt: unhealthySince, watchSince: node.watchSince }, now) >= silentMs;
}

/** Billing continues, and the backend is called until it responds. */
export async function markVolumeUnknown(tx: Tx, volume: Volume, reason: string): Promise<Volume> {
  if (volume.status !== 'active') return volume;
  return transitionVolume(tx, volume, { to: 'unknown', reason, actor: volumesActor });
}
