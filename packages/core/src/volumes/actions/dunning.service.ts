import type { Db, Tx } from '@millrace/platform/db';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { readBalance, runwayMs } from '../../ledger/index.ts';
import {
  readBurnRate,
  claimRequiredActions,
  completeRequiredAction,
  dunningThresholds,
  type RequiredAction,
} from '../../metering/index.ts';
import { freezeVolume } from './lifecycle.service.ts';
import { freezeVolumesLoop } from '../model/loops.ts';
import { findVolume, lockVolume } from '../model/volumes.store.ts';

/**
 * What a wallet that runs out asks of volumes: nobody can use them any more, and their data is kept for as long as was set
 * aside for that. From then on each sees to itself: it goes on when there is money, and is purged when there is none.
 */

const CLAIM_MS = 20_000;
const isolation = 'read committed' as const;

/** Carries out what is due for volumes. Answers how many were looked at. */
export async function freezeUnpaid(
  db: Db,
  { log, limit }: { readonly log: Pick<Logger, 'warn'>; readonly limit: number },
): Promise<number> {
  const claimed = await db.transaction({ name: 'claim required actions', isolation }, (tx) =>
    claimRequiredActions(tx, {
      kinds: ['volume'],
      now: tx.clock.now(),
      claimMs: CLAIM_MS,
      limit,
      loop: freezeVolumesLoop,
    }),
  );
  await createItemRunner(freezeVolumesLoop, { db, log }).run(claimed, {
    key: ({ id }) => id,
    work: async (action) => {
      await db.transaction({ name: 'carry out required', isolation }, async (tx) => {
        await freezeForAction(tx, action);
        await completeRequiredAction(tx, action.orgId, action.id);
      });
    },
  });
  return claimed.length;
}

async function freezeForAction(tx: Tx, action: RequiredAction): Promise<void> {
  const { orgId, mode, cause, reason } = action;
  const found = await findVolume(tx, orgId, mode, Number(cause.id));
  const volume = found === null ? null : await lockVolume(tx, orgId, found.id);
  // What is only kept is paid for already, and ends by itself when what pays for it does.
  if (volume === null || volume.phase !== 'live') return;
  // A suspension ends what computes, and keeps data.
  if (reason === 'suspension') return;
  if (reason === 'balance' && (await hasRecovered(tx, action))) return;
  // Also where a deletion is asked for: as long as something is set aside for its data, that is kept, and then purged.
  await freezeVolume(tx, volume, reason);
}

const lowestLevel = dunningThresholds.at(-1);

/** There is money again, or nothing costs any: what nobody has done yet need not be done. */
async function hasRecovered(tx: Tx, { orgId, mode }: RequiredAction): Promise<boolean> {
  const now = tx.clock.now();
  const { available } = await readBalance(tx, orgId, mode, now);
  const runway = runwayMs(await readBurnRate(tx, orgId, mode, now), available);
  return runway === null || runway > (lowestLevel?.leftAboveMs ?? 0);
}
