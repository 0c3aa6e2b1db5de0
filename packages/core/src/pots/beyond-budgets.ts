import type { Reader } from '@millrace/platform/db';
import { areBeyondBudgets } from '../ledger/index.ts';
import { heldFor } from './pot.ts';
import { listLentBudgets, type Lease } from './pots.store.ts';

/** A budget that was made or lowered while the money was lent must be seen by what is lent: so it is lent anew. */
export async function isBeyondBudgets(reader: Reader, lease: Lease): Promise<boolean> {
  if (heldFor(lease) === 0n) return false;
  const lent = await listLentBudgets(reader, lease.orgId, lease.id);
  return areBeyondBudgets(reader, lease.orgId, lease.mode, [
    lease.holdId,
    ...lent.map(({ holdId }) => holdId),
  ]);
}
