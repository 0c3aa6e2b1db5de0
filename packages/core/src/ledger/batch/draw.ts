import { divideRoundDown } from '@millrace/platform/money';
import type { Account } from './accounts.ts';
import type { WorkState } from '../model/ledger.ts';

/** Pure rules that choose the accounts that pay. The caller has already locked the accounts. */

export interface AccountPart {
  readonly account: Account;
  readonly amount: bigint;
}

export const minBigint = (left: bigint, right: bigint): bigint => (left < right ? left : right);
const notNegative = (amount: bigint): bigint => (amount > 0n ? amount : 0n);

/** The floor of a supplier's account is its debt and no overdraft, so it counts as zero here. */
export function availableIn(account: Account): bigint {
  const floor = account.kind === 'supplier_payable' ? 0n : (account.floor ?? 0n);
  return notNegative(account.balance - account.held - floor);
}

export function isExpired(account: Account, nowMs: number): boolean {
  return account.expiresAtMs !== null && account.expiresAtMs <= nowMs;
}

/** Orders accounts by priority, then earlier expiry, then age; UUIDv7 ids sort by creation time. */
export function compareSpending(left: Account, right: Account): number {
  if (left.priority !== right.priority) return left.priority - right.priority;
  const leftEnds = left.expiresAtMs ?? Number.POSITIVE_INFINITY;
  const rightEnds = right.expiresAtMs ?? Number.POSITIVE_INFINITY;
  if (leftEnds !== rightEnds) return leftEnds < rightEnds ? -1 : 1;
  return left.id < right.id ? -1 : left.id > right.id ? 1 : 0;
}

export function spendableAccounts(accounts: readonly Account[], nowMs: number): readonly Account[] {
  if (accounts.length === 1) return accounts;
  return accounts.filter((account) => !isExpired(account, nowMs)).toSorted(compareSpending);
}

export function totalAvailable(accounts: readonly Account[]): bigint {
  return accounts.reduce((sum, account) => sum + availableIn(account), 0n);
}

/** Draws up to `amount`, account by account. The parts sum to less if the accounts do not cover it. */
export function planDraw(accounts: readonly Account[], amount: bigint): readonly AccountPart[] {
  const amounts: AccountPart[] = [];
  let missing = amount;
  for (const account of accounts) {
    const taken = minBigint(missing, availableIn(account));
    if (taken > 0n) amounts.push({ account, amount: taken });
    missing -= taken;
    if (missing === 0n) break;
  }
  return amounts;
}

export function sumOf(amounts: readonly AccountPart[]): bigint {
  return amounts.reduce((sum, part) => sum + part.amount, 0n);
}

export function budgetBlocks(limit: Account, demand: WorkState): boolean {
  switch (limit.budget?.onExceeded) {
    case 'stop_everything':
      return true;
    case 'stop_new_work':
      return demand === 'new';
    default:
      return false;
  }
}

/** Budgets that only notify or were deleted refuse no work, so holds are not counted in them. */
export function isHeldInBudget(limit: Account): boolean {
  return limit.budget !== null && limit.budget.onExceeded !== 'notify';
}

export function remainingInBudget(limit: Account): bigint {
  return notNegative(limit.balance - limit.held);
}

/** Finds the budget with the smallest remaining amount among those that would refuse this work. */
export function tightestBudget(
  limits: readonly Account[],
  demand: WorkState,
): { readonly limit: Account; readonly left: bigint } | null {
  let found: { readonly limit: Account; readonly left: bigint } | null = null;
  for (const limit of limits) {
    if (!budgetBlocks(limit, demand)) continue;
    const left = remainingInBudget(limit);
    if (found === null || left < found.left) found = { limit, left };
  }
  return found;
}

/** The used share of a budget in whole percent, at most 100. */
export function usedPercent(limit: bigint, balance: bigint): number {
  const used = limit - balance;
  if (used <= 0n) return 0;
  return Number(minBigint(100n, divideRoundDown(used * 100n, limit)));
}
