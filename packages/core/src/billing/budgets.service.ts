import { budgetLimitsMaxUsd, budgetsMax } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { BudgetId, KeyId } from '@millrace/platform/ids';
import { fromUsdNumber, nanoPerUsd } from '@millrace/platform/money';
import {
  appendAuditEntry,
  authorizeCaller,
  findKey,
  type ApiKey,
  type CallContext,
} from '../identity/index.ts';
import {
  addKeyToBudgets,
  changeBudget,
  countOwnBudgets,
  createBudget,
  markBudgetAsKeyLimit,
  removeBudget,
  sumLimits,
  type BudgetChanges,
  type BudgetRecord,
  type NewBudget,
  type RecallCredit,
} from '../ledger/index.ts';
import { isLimitOfActiveKey } from './billing.store.ts';

/** Lets an organisation manage its budgets, checks who may change them, and audits the changes. */

export const DEFAULT_THRESHOLDS_PERCENT: readonly number[] = [50, 75, 100];

export type BudgetRequest = Omit<NewBudget, 'orgId' | 'mode' | 'keyIds'> & { readonly keyId: KeyId | null };

/** Without `recallMoney` there are no credit leases. */
export interface BudgetDeps {
  readonly recallMoney?: RecallCredit | undefined;
}

export async function createOwnBudget(
  tx: Tx,
  call: CallContext,
  request: BudgetRequest,
  { recallMoney }: BudgetDeps,
): Promise<BudgetRecord> {
  const { orgId, cause } = call;
  const { key: caller } = await authorizeCaller(tx, call, 'billing:write');
  const { keyId, ...rest } = request;
  if (keyId !== null) await requireKeyOfMode(tx, caller, keyId);
  if ((await countOwnBudgets(tx, orgId, caller.mode)) >= budgetsMax) throw new Fault('BUDGET_LIMIT_REACHED');
  const keyIds = keyId === null ? null : [keyId];
  const budget = await createBudget(tx, { ...rest, orgId, mode: caller.mode, keyIds });
  await requireBoundedLimits(tx, caller, ['limitNanoUsd']);
  await appendAuditEntry(tx, orgId, cause, {
    action: 'budget.created',
    resource: { kind: 'budget', id: budget.id },
    after: budgetAuditFields(budget),
  });
  if (request.onExceeded !== 'notify') recallCreditAfterCommit(tx, caller, recallMoney);
  return budget;
}

/**
 * A budget does not count credit that was granted to leases before it. So the credit is recalled, and the next grant is
 * within the budget. If the recall fails, the next request of a gateway has the same effect.
 */
function recallCreditAfterCommit(tx: Tx, { orgId, mode }: ApiKey, recall: RecallCredit | undefined): void {
  if (recall === undefined || mode === 'test') return;
  tx.afterCommit(async () => {
    await recall({ orgId, mode, amount: 'all' }).catch(() => 0n);
  });
}

export async function updateOwnBudget(
  tx: Tx,
  call: CallContext,
  id: BudgetId,
  changes: BudgetChanges,
  { recallMoney }: BudgetDeps,
): Promise<BudgetRecord> {
  const { orgId, cause } = call;
  const { key: caller } = await authorizeCaller(tx, call, 'billing:write');
  const changed = await changeBudget(tx, orgId, caller.mode, id, changes);
  if (changed === null) throw new Fault('BUDGET_NOT_FOUND');
  // Checked after the budget was found in this organisation and mode; the error rolls the change back.
  await requireNotKeyLimit(tx, call, id);
  if (changes.limit !== undefined) await requireBoundedLimits(tx, caller, ['limitNanoUsd']);
  await appendAuditEntry(tx, orgId, cause, {
    action: 'budget.changed',
    resource: { kind: 'budget', id },
    after: budgetAuditFields(changed),
  });
  if (changes.limit !== undefined || changes.onExceeded !== undefined) {
    recallCreditAfterCommit(tx, caller, recallMoney);
  }
  return changed;
}

export async function deleteOwnBudget(tx: Tx, call: CallContext, id: BudgetId): Promise<void> {
  const { orgId, cause } = call;
  const { key: caller } = await authorizeCaller(tx, call, 'billing:write');
  if (!(await removeBudget(tx, orgId, caller.mode, id))) throw new Fault('BUDGET_NOT_FOUND');
  await requireNotKeyLimit(tx, call, id);
  await appendAuditEntry(tx, orgId, cause, { action: 'budget.deleted', resource: { kind: 'budget', id } });
}

/**
 * Creates the budget of a new key. A rotated key shares the budgets of the old key, so that rotating does not refill
 * them.
 */
export async function createKeyBudget(tx: Tx, key: ApiKey): Promise<void> {
  const { orgId, mode } = key;
  if (key.rotatedFrom !== null) {
    await addKeyToBudgets(tx, orgId, key.rotatedFrom, key.id);
    return;
  }
  const { budget } = key.limits;
  if (budget === null) return;
  const limit = fromUsdNumber(budget.usd);
  if (limit === null) {
    const message = 'must have at most nine decimals and be below 8388608';
    throw new Fault('VALIDATION_FAILED', {
      issues: [{ message, path: ['limits', 'budget', 'usd'], code: 'not_exact' }],
    });
  }
  const { id } = await createBudget(tx, {
    orgId,
    mode,
    name: key.name,
    keyIds: [key.id],
    period: budget.period,
    limit,
    thresholdsPercent: DEFAULT_THRESHOLDS_PERCENT,
    onExceeded: 'stop_everything',
  });
  await markBudgetAsKeyLimit(tx, orgId, id);
  await requireBoundedLimits(tx, key, ['limits', 'budget', 'usd']);
}

const limitsMax = BigInt(budgetLimitsMaxUsd) * nanoPerUsd;

/**
 * All limits use shared contra accounts of 64 bits: without a bound one tenant could fill them, and no budget of the
 * others could start its next period. The organisation's row is locked, so concurrent requests cannot pass together.
 */
async function requireBoundedLimits(
  tx: Tx,
  { orgId, mode }: Pick<ApiKey, 'orgId' | 'mode'>,
  path: readonly string[],
): Promise<void> {
  if ((await sumLimits(tx, orgId, mode)) <= limitsMax) return;
  const message = `must total at most ${budgetLimitsMaxUsd} USD together with other budgets and key limits`;
  throw new Fault('VALIDATION_FAILED', {
    issues: [{ message, path: [...path], code: 'too_big' }],
    suggestion: 'Choose a lower limit, or delete budgets that you do not need.',
  });
}

/** A key of another organisation or mode looks like an unknown key. */
async function requireKeyOfMode(tx: Tx, caller: ApiKey, keyId: KeyId): Promise<void> {
  const key = await findKey(tx, caller.orgId, keyId);
  if (key === null || key.kind === 'seat' || key.mode !== caller.mode) throw new Fault('API_KEY_NOT_FOUND');
}

/** The limit of a key must apply to its user, even if the key has `billing:write`. */
async function requireNotKeyLimit(tx: Tx, { orgId }: CallContext, id: BudgetId): Promise<void> {
  if (await isLimitOfActiveKey(tx, orgId, id)) throw new Fault('BUDGET_OF_KEY');
}

function budgetAuditFields(budget: BudgetRecord): Readonly<Record<string, unknown>> {
  return {
    name: budget.name,
    keyIds: budget.keyIds,
    period: budget.period,
    limitNanoUsd: budget.limit.toString(),
    thresholdsPercent: budget.thresholdsPercent,
    onExceeded: budget.onExceeded,
  };
}
