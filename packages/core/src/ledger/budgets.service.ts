import type { Tx } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import type { BudgetId, OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import {
  findBudget,
  insertBudget,
  lockBudget,
  markBudgetDeleted,
  updateBudget,
  type BudgetChanges,
  type BudgetRecord,
} from './budgets.store.ts';
import type { LimitCommand } from './model/ledger.ts';
import { applyLedger, requireLedgerSuccess } from './ledger.service.ts';
import { periodAt } from './model/periods.ts';

/** Creates, changes and deletes budgets: limit accounts that charges count down and each period refills. */

export type NewBudget = Pick<
  BudgetRecord,
  'orgId' | 'mode' | 'name' | 'keyIds' | 'period' | 'limit' | 'thresholdsPercent' | 'onExceeded'
>;

export async function createBudget(tx: Tx, request: NewBudget): Promise<BudgetRecord> {
  const now = tx.clock.now();
  const { startMs, endMs } = periodAt(request.period, now.getTime());
  const budget = {
    ...request,
    id: tx.ids.next('bdg'),
    periodStart: new Date(startMs),
    periodEnd: endMs === null ? null : new Date(endMs),
    createdAt: now,
  };
  await insertBudget(tx, budget);
  await changeLimit(tx, budget, request.limit, 'limit:first');
  return { ...budget, spent: nanoUsd(0n) };
}

async function changeLimit(
  tx: Tx,
  budget: Pick<BudgetRecord, 'orgId' | 'mode' | 'id'>,
  by: LimitCommand['by'],
  step: string,
): Promise<void> {
  const { orgId, mode, id } = budget;
  const cause = { kind: 'budget', id };
  const [result] = await applyLedger(tx, [{ do: 'limit', orgId, mode, cause, step, budgetId: id, by }]);
  requireLedgerSuccess(result);
}

/** Changes a budget; a new limit applies to the current period. Returns null for an unknown budget. */
export async function changeBudget(
  tx: Tx,
  orgId: OrgId,
  mode: Mode,
  id: BudgetId,
  changes: BudgetChanges,
): Promise<BudgetRecord | null> {
  const before = await lockBudget(tx, orgId, mode, id);
  if (before === null) return null;
  const after = { ...before, ...changes };
  // The limit is changed before the row is updated: an expired period must restart with the old limit before the
  // difference is added. Restarted with the new limit, it would get the difference twice.
  await changeLimit(tx, before, nanoUsd(after.limit - before.limit), `limit:${tx.ids.nextUuid()}`);
  await updateBudget(tx, orgId, id, after);
  return findBudget(tx, orgId, mode, id);
}

/**
 * Deletes a budget. Parts held by running work are released with that work; the rest returns at once, so that deleted
 * limits do not accumulate in the shared contra account.
 */
export async function removeBudget(tx: Tx, orgId: OrgId, mode: Mode, id: BudgetId): Promise<boolean> {
  if ((await lockBudget(tx, orgId, mode, id)) === null) return false;
  await changeLimit(tx, { orgId, mode, id }, 'rest', 'limit:last');
  return markBudgetDeleted(tx, orgId, mode, id);
}
