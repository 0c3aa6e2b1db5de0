import type { BudgetPeriod } from '@millrace/core/ledger';
import type { HoldId, OrgId, TransferId } from '@millrace/platform/ids';

/** State of the oracle as plain values: an account is a number with a name. */

export type Mode = 'live' | 'test';
export type OnExceeded = 'notify' | 'stop_new_work' | 'stop_everything';

export interface Account {
  readonly what: 'credit' | 'promo' | 'earned' | 'budget' | 'system';
  readonly name: string;
  /** Id in the database, known after the batch that created the account; breaks ties in the spending order. */
  id: string;
  balance: bigint;
  held: bigint;
  floor: bigint | null;
  readonly priority: number;
  readonly expiresAtMs: number | null;
}

export interface Budget extends Account {
  readonly what: 'budget';
  readonly keyIds: readonly string[] | null;
  readonly period: BudgetPeriod;
  readonly thresholds: readonly number[];
  limit: bigint;
  onExceeded: OnExceeded;
  endsAtMs: number | null;
  notified: number;
  removed: boolean;
}

/** One organisation in one mode. */
export interface Tenant {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly credit: Account;
  /** Paid credit first, then promotional credit in the order of its grants. */
  readonly money: Account[];
  readonly earned: Account;
  readonly budgets: Budget[];
  readonly keyIds: readonly string[];
  frozen: boolean;
  /** The uncollected part of clawbacks. */
  owed: bigint;
}

export interface Hold {
  id: HoldId | null;
  readonly tenant: Tenant;
  readonly keyId: string | null;
  readonly onlyBudget: Budget | null;
  /** Holds supplier earnings instead of credit. */
  readonly ofEarnings: boolean;
  readonly amounts: Map<Account, bigint>;
  held: bigint;
  posted: bigint;
  closed: boolean;
}

export interface Transfer {
  id: TransferId | null;
  readonly tenant: Tenant;
  readonly kind: string;
  readonly amount: bigint;
  readonly shortfall: bigint;
  readonly balanceAfter: bigint;
  readonly legs: ReadonlyMap<Account, bigint>;
  /** Moved back by refunds and reversals. */
  readonly undone: Map<Account, bigint>;
  reversed: boolean;
}

export const minBigint = (left: bigint, right: bigint): bigint => (left < right ? left : right);
export const maxBigint = (left: bigint, right: bigint): bigint => (left > right ? left : right);

export function freeIn(account: Account): bigint {
  return maxBigint(0n, account.balance - account.held - (account.floor ?? 0n));
}

export function ownMoney(tenant: Tenant): bigint {
  let sum = 0n;
  for (const account of tenant.money) sum += account.balance;
  return sum;
}

/** Sorts by priority, then expiry, then age, as the ledger spends. */
export function inSpendingOrder(accounts: readonly Account[]): Account[] {
  const ends = (account: Account): number => account.expiresAtMs ?? Infinity;
  return [...accounts].sort((a, b) => {
    if (a.priority !== b.priority) return a.priority - b.priority;
    if (ends(a) !== ends(b)) return ends(a) < ends(b) ? -1 : 1;
    return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  });
}

export function endOfPeriod(period: BudgetPeriod, nowMs: number): number | null {
  const date = new Date(nowMs);
  switch (period) {
    case 'total':
      return null;
    case 'hour':
      date.setUTCMinutes(60, 0, 0);
      return date.getTime();
    case 'day':
      date.setUTCHours(24, 0, 0, 0);
      return date.getTime();
    case 'week': {
      // getUTCDay() returns 0 for Sunday, the last day of the week.
      const daysLeft = date.getUTCDay() === 0 ? 1 : 8 - date.getUTCDay();
      date.setUTCHours(24 * daysLeft, 0, 0, 0);
      return date.getTime();
    }
    case 'month':
      date.setUTCMonth(date.getUTCMonth() + 1, 1);
      date.setUTCHours(0, 0, 0, 0);
      return date.getTime();
  }
}
