import type { Reader } from '@millrace/platform/db';
import { holdsExceedBudgets } from '../../ledger/index.ts';
import { heldAmount } from './lease-decisions.ts';
import { listBudgetGrants, type CreditLease } from './leases.store.ts';

/** True if a budget was created or lowered after the grant: the lease must then be replaced by one within the budget. */
export async function exceedsBudgets(reader: Reader, lease: CreditLease): Promise<boolean> {
  if (heldAmount(lease) === 0n) return false;
  const granted = await listBudgetGrants(reader, lease.orgId, lease.id);
  const ofBudgets = granted.map(({ holdId }) => holdId);
  return holdsExceedBudgets(reader, lease.orgId, lease.mode, [lease.holdId, ...ofBudgets]);
}
