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
 * Freezes volumes when a wallet runs out of money. Their data is retained as long as the money held for it lasts. Each
 * volume is unfrozen when there is money again, and purged when its retention ends.
 */

/** Returns the number of required actions that were processed. */
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
  // A retained volume is already paid for and ends with the money held for it.
  if (volume === null || volume.phase !== 'live') return;
  // A suspension ends compute, but keeps data.
  if (reason === 'suspension') return;
  if (reason === 'balance' && (await hasRecovered(tx, action))) return;
  // Also for a required deletion: the data is kept while money is held for it, and then purged.
  await freezeVolume(tx, volume, reason);
}
