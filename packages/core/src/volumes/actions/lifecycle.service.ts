import type { Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import { appendAuditEntry, authorizeCaller, type CallContext } from '../../identity/index.ts';
import { detachRentals, lockOwnVolume, requireUnattached } from './attach.service.ts';
import { requireVolumeAction } from './attach-rules.ts';
import {
  releaseHold,
  retainData,
  resumeVolumeBilling,
  endVolumeBilling,
} from '../money/volume-billing.service.ts';
import { transitionVolume, emitVolumeEvent, bumpSpecVersion } from '../model/volume-transitions.ts';
import { RETENTION_MS } from '../../metering/index.ts';
import { expireRestore } from './snapshot-restore.ts';
import { listRestoresFrom, listSnapshots, saveSnapshot } from '../model/snapshots.store.ts';
import { volumeResourceOf, volumesActor, type Volume, type VolumeChanges } from '../model/volume.ts';
import { saveVolume } from '../model/volumes.store.ts';

/**
 * Freezes, unfreezes and ends volumes, and changes their billing in the same transaction. While the backend is
 * unreachable the status stays `unknown`; it changes when the backend responds.
 */

/** The data is kept for the retention, as far as it can be paid. Idempotent. */
export async function deleteVolume(tx: Tx, call: CallContext, wireId: number): Promise<Volume> {
  const { key } = await authorizeCaller(tx, call, 'volumes:write');
  const { orgId, cause } = call;
  const volume = await lockOwnVolume(tx, { orgId, mode: key.mode }, wireId);
  requireVolumeAction(volume, 'delete');
  if (volume.phase === 'leaving' || volume.phase === 'purging') return volume;
  await requireUnattached(tx, volume);
  await requireNoRestore(tx, volume);
  const reason = 'Deleted by the tenant.';
  const left = await startRetention(tx, volume, { reason, actor: cause.actor });
  await appendAuditEntry(tx, orgId, cause, {
    action: 'volume.deleted',
    resource: volumeResourceOf(volume),
    before: { status: volume.status },
    after: { status: left.status, purgeAt: left.purgeAt?.toISOString() ?? null },
  });
  return left;
}

/** A restore in progress must not lose its source or target. It ends at its deadline at the latest. */
async function requireNoRestore(tx: Tx, volume: Volume): Promise<void> {
  const { restore, phase } = volume;
  if (phase === 'live' && restore !== null && tx.clock.now() < restore.by) {
    throw new Fault('ACTION_IN_PROGRESS', { message: 'A snapshot is being restored into the volume.' });
  }
  const into = (await listRestoresFrom(tx, volume)).find(({ wireId }) => wireId !== volume.wireId);
  if (into === undefined) return;
  throw new Fault('SNAPSHOT_IN_USE', {
    message: `A snapshot of this volume is being restored into volume ${into.wireId}.`,
  });
}

interface VolumeEnd {
  readonly reason: string;
  readonly actor: Actor;
  /** When the data is deleted, if known; otherwise after the usual retention. */
  readonly purgeAt?: Date;
  /** How late the end was noticed. The data is kept that much longer without charge. */
  readonly lateMs?: number;
}

/** Ends the use of a volume; its data is deleted after the retention. A volume that was never usable has no retention. */
export async function startRetention(tx: Tx, volume: Volume, end: VolumeEnd): Promise<Volume> {
  const now = tx.clock.now();
  const endReason = end.reason.slice(0, REASON_MAX);
  const ending = { endReason, endAcceptedAt: now };
  if (volume.phase === 'provisioning') return purgeVolume(tx, volume, { ...end, at: now, changes: ending });
  const given = await cancelPendingChanges(tx, volume);
  const purgeAt = await retainedUntil(tx, given, now, end);
  const changes = { ...ending, phase: 'leaving', purgeAt, ...bumpSpecVersion(given, now) } as const;
  const left = await deactivateVolume(tx, given, { reason: end.reason, actor: end.actor, changes });
  await emitVolumeEvent(tx, left, {
    type: 'volume.inactive',
    actor: end.actor,
    data: { reason: end.reason, purgeAt: purgeAt.toISOString() },
  });
  return left;
}

/** The end of the paid retention, plus the delay with which the end was noticed. */
async function retainedUntil(tx: Tx, volume: Volume, now: Date, end: VolumeEnd): Promise<Date> {
  // A frozen volume already uses the money held for its retention and gets no more.
  if (volume.phase === 'frozen' && volume.purgeAt !== null) return volume.purgeAt;
  const { purgeAt, lateMs = 0 } = end;
  const from = purgeAt !== undefined && purgeAt < now ? purgeAt : now;
  const paidUntil = await retainData(tx, volume, from, retentionMsOf(end, from));
  return new Date(paidUntil.getTime() + lateMs);
}

const REASON_MAX = 255;

function retentionMsOf({ purgeAt }: VolumeEnd, now: Date): number {
  return purgeAt === undefined ? RETENTION_MS : Math.max(0, purgeAt.getTime() - now.getTime());
}

/** Stops the use of a volume without money. Its data is kept while the hold lasts; with new money the volume continues. */
export async function freezeVolume(tx: Tx, volume: Volume, because: 'balance' | 'budget'): Promise<Volume> {
  const now = tx.clock.now();
  const given = await cancelPendingChanges(tx, volume);
  const purgeAt = await retainData(tx, given, now);
  const reason = `The ${because} no longer covers the cost.`;
  const frozen = await deactivateVolume(tx, given, {
    reason,
    actor: volumesActor,
    changes: { phase: 'frozen', purgeAt, ...bumpSpecVersion(given, now) },
  });
  await emitVolumeEvent(tx, frozen, {
    type: 'volume.inactive',
    actor: volumesActor,
    data: { reason: because, purgeAt: purgeAt.toISOString() },
  });
  return frozen;
}

/** Null if the wallet cannot pay for the volume. */
export async function unfreezeVolume(tx: Tx, volume: Volume): Promise<Volume | null> {
  if (!(await resumeVolumeBilling(tx, volume))) return null;
  const now = tx.clock.now();
  const changes = { phase: 'live', purgeAt: null, ...bumpSpecVersion(volume, now) } as const;
  // While a restore is not confirmed, the volume stays inactive.
  if (volume.status === 'unknown' || volume.restore !== null) {
    return saveVolume(tx, volume, { updatedAt: now, ...changes });
  }
  const thawed = await transitionVolume(tx, volume, {
    to: 'active',
    reason: null,
    actor: volumesActor,
    changes,
  });
  await emitVolumeEvent(tx, thawed, { type: 'volume.active', actor: volumesActor, data: {} });
  return thawed;
}

/** Deletes the data and detaches all rentals. Time after `at` is not billed, however long the deletion takes. */
export async function purgeVolume(
  tx: Tx,
  volume: Volume,
  end: VolumeEnd & { readonly at: Date; readonly changes?: VolumeChanges },
): Promise<Volume> {
  const given = await cancelPendingChanges(tx, volume);
  await releaseHold(tx, given, given.holdId);
  await endVolumeBilling(tx, given, end.at);
  const { volume: alone } = await detachRentals(tx, given, 'all', end.actor);
  const now = tx.clock.now();
  const changes: VolumeChanges = {
    endReason: volume.endReason ?? end.reason.slice(0, REASON_MAX),
    ...end.changes,
    phase: 'purging',
    purgeAt: end.at,
    holdId: null,
    restore: null,
    tries: 0,
    ...bumpSpecVersion(alone, now),
  };
  const purging = await deactivateVolume(tx, alone, { reason: end.reason, actor: end.actor, changes });
  if (volume.restore !== null) {
    const data = { snapshotId: volume.restore.snapshotId, reason: end.reason };
    await emitVolumeEvent(tx, purging, { type: 'volume.restore_failed', actor: end.actor, data });
  }
  return purging;
}

/** Cancels growth, snapshots and restores that are not done yet. */
async function cancelPendingChanges(tx: Tx, volume: Volume): Promise<Volume> {
  for (const snapshot of await listSnapshots(tx, volume)) {
    if (snapshot.status !== 'creating') continue;
    await releaseHold(tx, volume, snapshot.holdId);
    await saveSnapshot(tx, volume.orgId, snapshot, { status: 'deleting', holdId: null });
  }
  if (volume.growth === null && volume.restore === null) return volume;
  await releaseHold(tx, volume, volume.growth?.holdId ?? null);
  return saveVolume(tx, volume, { growth: null, ...expireRestore(volume, tx.clock.now()) });
}

/** `active` becomes `inactive`; `unknown` stays until the backend responds. */
async function deactivateVolume(
  tx: Tx,
  volume: Volume,
  move: { readonly reason: string; readonly actor: Actor; readonly changes: VolumeChanges },
): Promise<Volume> {
  if (volume.status === 'active') return transitionVolume(tx, volume, { to: 'inactive', ...move });
  const { reason: statusReason, changes } = move;
  return saveVolume(tx, volume, { updatedAt: tx.clock.now(), ...changes, statusReason });
}
