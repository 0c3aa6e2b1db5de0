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

/** Budgets: a limit account that each charge counts down, and that every period fills again. */

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

/** Changes a budget. A new limit counts in the present period; null when there is no such budget. */
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
  // While the limit is still the old one: a period that is over ends with that, and then the difference comes. One that
  // began with the new limit would be given the difference as well.
  await changeLimit(tx, before, nanoUsd(after.limit - before.limit), `limit:${tx.ids.nextUuid()}`);
  await updateBudget(tx, orgId, id, after);
  return findBudget(tx, orgId, mode, id);
}

/**
 * Ends a budget. What it held for running work is let go with that work; the rest goes back at once, or limits that
 * were made and deleted would pile up in the account that all organisations' limits are drawn from.
 */
export async function removeBudget(tx: Tx, orgId: OrgId, mode: Mode, id: BudgetId): Promise<boolean> {
  if ((await lockBudget(tx, orgId, mode, id)) === null) return false;
  await changeLimit(tx, { orgId, mode, id }, 'rest', 'limit:last');
  return markBudgetDeleted(tx, orgId, mode, id);
}
