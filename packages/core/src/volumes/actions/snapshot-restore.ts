import type { Tx } from '@millrace/platform/db';
import type { SnapshotId } from '@millrace/platform/ids';
import type { VolumePhase, Restore, Snapshot, Volume } from '../model/volume.ts';

/** A restore as stored in the row of its target volume. */

export function createRestore(tx: Tx, snapshot: Pick<Snapshot, 'id' | 'volumeId'>, forMs: number): Restore {
  return {
    id: tx.ids.nextUuid(),
    snapshotId: snapshot.id,
    sourceId: snapshot.volumeId,
    by: new Date(tx.clock.now().getTime() + forMs),
  };
}

export const restoringReason = (id: SnapshotId): string =>
  `The volume is being restored from snapshot ${id}.`;

/**
 * Whether to send the restore to the backend. A new volume always needs its snapshot. In place, the backend is asked
 * until the deadline; a later request without the restore makes it report the outcome.
 */
export function shouldRequestRestore(
  { phase, restore }: { readonly phase: VolumePhase; readonly restore: Restore | null },
  now: Date,
): boolean {
  if (restore === null) return false;
  return phase === 'provisioning' || (phase === 'live' && now < restore.by);
}

/** Moves the deadline to now, so that the next response reports the outcome instead of starting the restore. */
export function expireRestore({ restore }: Pick<Volume, 'restore'>, now: Date): Pick<Volume, 'restore'> {
  return { restore: restore === null || restore.by <= now ? restore : { ...restore, by: now } };
}
