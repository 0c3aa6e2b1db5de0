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

/** The only writer of a volume's status: changes the row, records the transition and emits events. */

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
  /** Null when the volume is purged. */
  readonly to: VolumeState | null;
  /** Null if the status needs no explanation. */
  readonly reason: string | null;
  readonly actor: Actor;
  readonly changes?: VolumeChanges;
}

/**
 * The caller holds the lock. Throws for a transition that the table of states does not allow: callers check the table
 * first and report a refusal to the tenant.
 */
export async function transitionVolume(tx: Tx, volume: Volume, move: VolumeTransition): Promise<Volume> {
  const { to, reason, actor } = move;
  if (!canTransition(volumeStates, volume.status, to)) {
    throw new Error(`Volume ${volume.id} cannot change from ${volume.status} to ${to ?? 'purged'}.`);
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

/** The backend responds again: the volume becomes active, or inactive if its phase changed meanwhile. */
export async function markReachable(tx: Tx, volume: Volume): Promise<Volume> {
  const back = 'The storage node is reachable again.';
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

/** The backend confirmed the deletion, or an operator declared the data lost. */
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

/** The spec changed, so the volume is due at once and earlier confirmations do not count. */
export function bumpSpecVersion(volume: Pick<Volume, 'specSeq'>, now: Date): VolumeChanges {
  return { specSeq: volume.specSeq + 1, nextActionAt: now };
}
