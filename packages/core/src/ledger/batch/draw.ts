import { divideRoundDown } from '@millrace/platform/money';
import type { Account } from './accounts.ts';
import type { WorkState } from '../model/ledger.ts';

/** Who pays: pure rules over accounts that are already locked. */

export interface AccountPart {
  readonly account: Account;
  readonly amount: bigint;
}

export const minBigint = (left: bigint, right: bigint): bigint => (left < right ? left : right);
const notNegative = (amount: bigint): bigint => (amount > 0n ? amount : 0n);

/**
 * What can still be taken from an account. One without a floor of its own counts from zero, and so does what a supplier
 * earned: its floor says what it owes, which is nothing that could be taken.
 */
export function availableIn(account: Account): bigint {
  const floor = account.kind === 'supplier_payable' ? 0n : (account.floor ?? 0n);
  return notNegative(account.balance - account.held - floor);
}

export function isExpired(account: Account, nowMs: number): boolean {
  return account.expiresAtMs !== null && account.expiresAtMs <= nowMs;
}

/** Lower priority first, then what expires sooner, then the older account; its id carries its time. */
export function compareSpending(left: Account, right: Account): number {
  if (left.priority !== right.priority) return left.priority - right.priority;
  const leftEnds = left.expiresAtMs ?? Number.POSITIVE_INFINITY;
  const rightEnds = right.expiresAtMs ?? Number.POSITIVE_INFINITY;
  if (leftEnds !== rightEnds) return leftEnds < rightEnds ? -1 : 1;
  return left.id < right.id ? -1 : left.id > right.id ? 1 : 0;
}

/** The accounts new money may be taken from, in the order it is taken. */
export function spendableAccounts(accounts: readonly Account[], nowMs: number): readonly Account[] {
  if (accounts.length === 1) return accounts;
  return accounts.filter((account) => !isExpired(account, nowMs)).toSorted(compareSpending);
}

export function totalAvailable(accounts: readonly Account[]): bigint {
  return accounts.reduce((sum, account) => sum + availableIn(account), 0n);
}

/** Takes up to `amount`, account by account; what is missing in the end is simply not in the parts. */
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

/** Whether this budget refuses such work once it is used up. */
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

/** A budget that only tells, or was removed, has nothing more set aside in it: nobody is refused by it. */
export function isHeldInBudget(limit: Account): boolean {
  return limit.budget !== null && limit.budget.onExceeded !== 'notify';
}

/** What a budget leaves for more work. */
export function remainingInBudget(limit: Account): bigint {
  return notNegative(limit.balance - limit.held);
}

/** The tightest of the budgets that would refuse this work, with what it leaves; null when none would. */
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

/** How much of a budget is used, in whole percent, never more than 100. */
export function usedPercent(limit: bigint, balance: bigint): number {
  const used = limit - balance;
  if (used <= 0n) return 0;
  return Number(minBigint(100n, divideRoundDown(used * 100n, limit)));
}
