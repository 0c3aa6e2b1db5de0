import type { Db } from '@millrace/platform/db';
import { applyLedger } from './ledger.service.ts';
import { listExpiredPromos } from './ledger.store.ts';

/**
 * Takes what is left of promotional credit after its time. What running work holds of it stays until it is posted or let
 * go, so an account may be swept more than once: the number of its entries tells the sweeps apart.
 */
export async function expirePromos(db: Db, limit: number): Promise<number> {
  return db.transaction({ name: 'expire promotional credit', isolation: 'read committed' }, async (tx) => {
    const due = await listExpiredPromos(tx, tx.clock.now(), limit);
    await applyLedger(
      tx,
      due.map(({ orgId, mode, accountId, entryCount }) => ({
        do: 'expire',
        orgId,
        mode,
        cause: { kind: 'promo', id: accountId },
        step: `expire:${entryCount}`,
        accountId,
      })),
    );
    return due.length;
  });
}
