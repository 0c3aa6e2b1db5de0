import type { Tx } from '@millrace/platform/db';
import type { SnapshotId } from '@millrace/platform/ids';
import type { VolumePhase, Restore, Snapshot, Volume } from '../model/volume.ts';

/** A restore as it is written into the row of the volume that is restored into. */

export function createRestore(tx: Tx, snapshot: Pick<Snapshot, 'id' | 'volumeId'>, forMs: number): Restore {
  return {
    id: tx.ids.nextUuid(),
    snapshotId: snapshot.id,
    sourceId: snapshot.volumeId,
    by: new Date(tx.clock.now().getTime() + forMs),
  };
}

export const restoringReason = (id: SnapshotId): string => `It is being restored from snapshot ${id}.`;

/**
 * Whether the backend is still to be asked for the restore. A new volume is made from its snapshot or not at all. In place the
 * backend is asked until the deadline; after it, an order without the restore makes the backend say whether it was done.
 */
export function shouldRequestRestore(
  { phase, restore }: { readonly phase: VolumePhase; readonly restore: Restore | null },
  now: Date,
): boolean {
  if (restore === null) return false;
  return phase === 'provisioning' || (phase === 'live' && now < restore.by);
}

/** Moves the deadline to now, so that the backend is no longer asked for the restore. Its next answer says what the volume holds. */
export function expireRestore({ restore }: Pick<Volume, 'restore'>, now: Date): Pick<Volume, 'restore'> {
  return { restore: restore === null || restore.by <= now ? restore : { ...restore, by: now } };
}
