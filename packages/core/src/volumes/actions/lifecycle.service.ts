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
 * How a volume is frozen, thawed and ended, whoever wants it. What it costs changes in the same transaction. Where its
 * backend is silent the status stays `unknown`, and shows what became of it once the backend answers.
 */

/** The tenant deletes a volume. Its data is kept for the retention, as far as that can be paid. Deleting again answers the same. */
export async function deleteVolume(tx: Tx, call: CallContext, wireId: number): Promise<Volume> {
  const { key } = await authorizeCaller(tx, call, 'volumes:write');
  const { orgId, cause } = call;
  const volume = await lockOwnVolume(tx, { orgId, mode: key.mode }, wireId);
  requireVolumeAction(volume, 'delete');
  if (volume.phase === 'leaving' || volume.phase === 'purging') return volume;
  await requireUnattached(tx, volume);
  await requireNoRestore(tx, volume);
  const reason = 'Deleted by its tenant.';
  const left = await startRetention(tx, volume, { reason, actor: cause.actor });
  await appendAuditEntry(tx, orgId, cause, {
    action: 'volume.deleted',
    resource: volumeResourceOf(volume),
    before: { status: volume.status },
    after: { status: left.status, purgeAt: left.purgeAt?.toISOString() ?? null },
  });
  return left;
}

/** A restore that is being done must not lose its source, nor its target. Both end by themselves, at their deadline at the latest. */
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
  /** When its data goes, where that is known; else it is kept for the retention. */
  readonly purgeAt?: Date;
  /** How late the end was noticed. The data is kept that much longer at no charge. */
  readonly lateMs?: number;
}

/** Nobody may use it any more, and its data goes at the end of its retention. One that never was usable has none. */
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

/** When the data is purged: at the end of the paid retention, plus the delay with which the end was noticed. */
async function retainedUntil(tx: Tx, volume: Volume, now: Date, end: VolumeEnd): Promise<Date> {
  // What is frozen is kept over what was set aside already, and for no longer than that.
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

/** The money for it has ended: it is kept over what was set aside for that, and may go on when there is more. */
export async function freezeVolume(tx: Tx, volume: Volume, because: 'balance' | 'budget'): Promise<Volume> {
  const now = tx.clock.now();
  const given = await cancelPendingChanges(tx, volume);
  const purgeAt = await retainData(tx, given, now);
  const reason = `The ${because} does not cover it any longer.`;
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

/** It goes on if the wallet can pay for it again. Null: it cannot. */
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

/**
 * Its data is deleted from now on, and nothing after `at` is paid for, however long that takes. Whatever still has it is
 * detached.
 */
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

/** Growths, snapshots and restores that were not done yet are not asked for any more. */
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

/** `active` becomes `inactive`; what is inactive stays so, and what is unknown is until its backend answers. */
async function deactivateVolume(
  tx: Tx,
  volume: Volume,
  move: { readonly reason: string; readonly actor: Actor; readonly changes: VolumeChanges },
): Promise<Volume> {
  if (volume.status === 'active') return transitionVolume(tx, volume, { to: 'inactive', ...move });
  const { reason: statusReason, changes } = move;
  return saveVolume(tx, volume, { updatedAt: tx.clock.now(), ...changes, statusReason });
}
