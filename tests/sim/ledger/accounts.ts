import type { BudgetPeriod } from '@millrace/core/ledger';
import type { HoldId, OrgId, TransferId } from '@millrace/platform/ids';

/** What the oracle remembers. Plain values, no rows, no locks: an account is a number with a name. */

export type Mode = 'live' | 'test';
export type OnExceeded = 'notify' | 'stop_new_work' | 'stop_everything';

export interface Account {
  readonly what: 'credit' | 'promo' | 'earned' | 'budget' | 'system';
  readonly name: string;
  /** Its id in the database, told after the first batch that made it; orders accounts that are otherwise equal. */
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
  /** Credit first, then promotional credit as it was given. */
  readonly money: Account[];
  readonly earned: Account;
  readonly budgets: Budget[];
  readonly keyIds: readonly string[];
  frozen: boolean;
  /** What clawbacks could not take. */
  owed: bigint;
}

export interface Hold {
  id: HoldId | null;
  readonly tenant: Tenant;
  readonly keyId: string | null;
  readonly onlyBudget: Budget | null;
  /** Of what its tenant earned as a supplier. */
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
  /** What refunds and reversals have moved back. */
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

/** Who is spent first: by priority, by expiry, by age. Promotional accounts stand in the list in order of age. */
export function inSpendingOrder(accounts: readonly Account[]): Account[] {
  const ends = (account: Account): number => account.expiresAtMs ?? Infinity;
  return [...accounts].sort((a, b) => {
    if (a.priority !== b.priority) return a.priority - b.priority;
    if (ends(a) !== ends(b)) return ends(a) < ends(b) ? -1 : 1;
    return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  });
}

/** When the period that holds this instant is over. */
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
      // Sunday is 0 and ends the week.
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
