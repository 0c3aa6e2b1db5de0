import { canTransition, volumeStates, type EventData, type EventType } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { appendOutbox } from '@millrace/platform/outbox';
import { markSnapshotsDeleted } from './snapshots.store.ts';
import {
  volumeResourceOf,
  volumesActor,
  type Volume,
  type VolumeState,
  type VolumeChanges,
} from './volume.ts';
import { insertTransition, saveVolume } from './volumes.store.ts';

/** The one way in which a volume's status changes: its row, its transition, and what the tenant is told. */

type VolumeEventType = Extract<EventType, `volume.${string}`>;
type ExtraVolumeEventData<Type extends VolumeEventType> = Omit<
  EventData<Type>,
  keyof EventData<'volume.active'>
>;

export async function emitVolumeEvent<Type extends VolumeEventType>(
  tx: Tx,
  volume: Volume,
  event: { readonly type: Type; readonly actor: Actor; readonly data: Readonly<ExtraVolumeEventData<Type>> },
): Promise<void> {
  const { wireId, label, region, sizeGb } = volume;
  await appendOutbox(tx, {
    kind: 'event',
    orgId: volume.orgId,
    mode: volume.mode,
    type: event.type,
    resource: volumeResourceOf(volume),
    data: { storageVolumeId: wireId, label, region, sizeInGb: sizeGb, ...event.data },
    actor: event.actor,
    occurredAt: tx.clock.now(),
  });
}

export interface VolumeTransition {
  /** Null: it is gone. */
  readonly to: VolumeState | null;
  /** Null where the status says it all. */
  readonly reason: string | null;
  readonly actor: Actor;
  readonly changes?: VolumeChanges;
}

/**
 * Moves a volume whose lock is held to another status. Throws where the table of states knows no such way: that is a
 * mistake of ours, so callers look first and answer the tenant by the same table.
 */
export async function transitionVolume(tx: Tx, volume: Volume, move: VolumeTransition): Promise<Volume> {
  const { to, reason, actor } = move;
  if (!canTransition(volumeStates, volume.status, to)) {
    throw new Error(`Volume ${volume.id} cannot go from ${volume.status} to ${to ?? 'its end'}.`);
  }
  const now = tx.clock.now();
  const transitions = volume.transitions + 1;
  const moved = await saveVolume(tx, volume, {
    updatedAt: now,
    ...move.changes,
    status: to ?? 'inactive',
    statusReason: reason,
    statusSince: now,
    transitions,
  });
  await insertTransition(tx, moved, { seq: transitions, from: volume.status, to, reason, actor, at: now });
  return moved;
}

/** Its backend is back: it is active, and what became of it meanwhile shows at the same instant. */
export async function markReachable(tx: Tx, volume: Volume): Promise<Volume> {
  const back = 'Its backend is back.';
  if (volume.phase === 'live') {
    return transitionVolume(tx, volume, { to: 'active', reason: back, actor: volumesActor });
  }
  const now = tx.clock.now();
  const by = { actor: volumesActor, at: now };
  const seq = volume.transitions;
  await insertTransition(tx, volume, { seq: seq + 1, from: 'unknown', to: 'active', reason: back, ...by });
  const { statusReason: reason } = volume;
  await insertTransition(tx, volume, { seq: seq + 2, from: 'active', to: 'inactive', reason, ...by });
  return saveVolume(tx, volume, { status: 'inactive', statusSince: now, transitions: seq + 2 });
}

/** Its data is gone: the backend said so, or an operator declared it lost. */
export async function markPurged(tx: Tx, seen: Volume, actor: Actor = volumesActor): Promise<Volume> {
  const volume = seen.status === 'unknown' ? await markReachable(tx, seen) : seen;
  await markSnapshotsDeleted(tx, volume);
  const purged = await transitionVolume(tx, volume, {
    to: null,
    reason: volume.endReason,
    actor,
    changes: {
      phase: 'purged',
      deletedAt: tx.clock.now(),
      servedClients: [],
      servedSeq: volume.specSeq,
      unhealthySince: null,
      nextActionAt: null,
    },
  });
  const data = purged.endReason === null ? {} : { reason: purged.endReason };
  await emitVolumeEvent(tx, purged, { type: 'volume.deleted', actor, data });
  return purged;
}

/** What the backend has to serve changed: it is looked at at once, and what was told before counts no more. */
export function bumpSpecVersion(volume: Pick<Volume, 'specSeq'>, now: Date): VolumeChanges {
  return { specSeq: volume.specSeq + 1, nextActionAt: now };
}
