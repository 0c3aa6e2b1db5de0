import type { Db, Tx } from '@millrace/platform/db';
import {
  hasRecovered,
  runRequiredActions,
  type RequiredAction,
  type RequiredActionSweep,
} from '../../metering/index.ts';
import { freezeVolume } from './lifecycle.service.ts';
import { freezeVolumesLoop } from '../model/loops.ts';
import { findVolume, lockVolume } from '../model/volumes.store.ts';

/**
 * What a wallet that runs out asks of volumes: nobody can use them any more, and their data is kept for as long as was set
 * aside for that. From then on each sees to itself: it goes on when there is money, and is purged when there is none.
 */

/** Carries out what is due for volumes. Answers how many were looked at. */
export function freezeUnpaid(db: Db, sweep: RequiredActionSweep): Promise<number> {
  return runRequiredActions(db, sweep, {
    kinds: ['volume'],
    loop: freezeVolumesLoop,
    execute: async (tx, action) => {
      await freezeForAction(tx, action);
      return true;
    },
  });
}

async function freezeForAction(tx: Tx, action: RequiredAction): Promise<void> {
  const { orgId, mode, cause, reason } = action;
  const found = await findVolume(tx, { orgId, mode }, Number(cause.id));
  const volume = found === null ? null : await lockVolume(tx, orgId, found.id);
  // What is only kept is paid for already, and ends by itself when what pays for it does.
  if (volume === null || volume.phase !== 'live') return;
  // A suspension ends what computes, and keeps data.
  if (reason === 'suspension') return;
  if (reason === 'balance' && (await hasRecovered(tx, action))) return;
  // Also where a deletion is asked for: as long as something is set aside for its data, that is kept, and then purged.
  await freezeVolume(tx, volume, reason);
}
