import type { Db } from '@millrace/platform/db';
import { toUuid } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { applyLedger } from './ledger.service.ts';
import { listExpiredPromos } from './ledger.store.ts';
import { expirePromoLoop } from './loops.ts';

/**
 * Expires promotional credit. Credit in holds is expired after its release, so the entry count makes each step unique.
 */
export async function expirePromos(
  db: Db,
  { log, limit }: { readonly log: Pick<Logger, 'warn'>; readonly limit: number },
): Promise<number> {
  const isolation = 'read committed';
  const due = await db.transaction({ name: 'list expired credit', isolation }, (tx) =>
    listExpiredPromos(tx, tx.clock.now(), limit),
  );
  await createItemRunner(expirePromoLoop, { db, log }).runBatch(due, {
    key: ({ accountId }) => toUuid(accountId),
    together: async (some) => {
      await db.transaction({ name: 'expire promotional credit', isolation }, (tx) =>
        applyLedger(
          tx,
          some.map(({ orgId, mode, accountId, entryCount }) => ({
            do: 'expire',
            orgId,
            mode,
            cause: { kind: 'promo', id: accountId },
            step: `expire:${entryCount}`,
            accountId,
          })),
        ),
      );
    },
  });
  return due.length;
}
