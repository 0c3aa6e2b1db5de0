import { describe, expect, it } from 'vitest';
import type { Account } from './accounts.ts';
import {
  availableIn,
  budgetBlocks,
  compareSpending,
  isExpired,
  isHeldInBudget,
  remainingInBudget,
  planDraw,
  minBigint,
  spendableAccounts,
  sumOf,
  tightestBudget,
  totalAvailable,
  usedPercent,
} from './draw.ts';
import { account, createTestLedger } from './test-ledger.fixture.ts';

const credit = (fields: Partial<Account> = {}): Account =>
  account({ id: 'a', kind: 'credit', floor: 0n, ...fields });

describe('available amount', () => {
  it.each([
    [{ balance: 10n, held: 3n, floor: 0n }, 7n],
    [{ balance: 10n, held: 3n, floor: -5n }, 12n],
    [{ balance: 10n, held: 3n, floor: null }, 7n],
    [{ balance: 3n, held: 3n, floor: 0n }, 0n],
    [{ balance: -2n, held: 0n, floor: 0n }, 0n],
    [{ balance: -2n, held: 0n, floor: -5n }, 3n],
  ])('of account %o is %s', (fields, expected) => {
    expect(availableIn(credit(fields))).toBe(expected);
  });

  it('of several accounts is their sum', () => {
    expect(totalAvailable([credit({ balance: 4n }), credit({ balance: 9n, held: 2n })])).toBe(11n);
    expect(totalAvailable([])).toBe(0n);
  });

  it('of a budget is never below zero', () => {
    expect(remainingInBudget(credit({ balance: 5n, held: 2n }))).toBe(3n);
    expect(remainingInBudget(credit({ balance: 2n, held: 5n, floor: -3n }))).toBe(0n);
  });
});

describe('spending order', () => {
  it('is priority, then expiry, then age', () => {
    const first = credit({ id: 'z', priority: 1 });
    const soon = credit({ id: 'y', expiresAtMs: 10 });
    const later = credit({ id: 'x', expiresAtMs: 20 });
    const older = credit({ id: 'b' });
    const newer = credit({ id: 'c' });
    const sorted = [newer, later, older, soon, first].toSorted(compareSpending);
    expect(sorted.map(({ id }) => id)).toEqual(['z', 'y', 'x', 'b', 'c']);
    expect(compareSpending(older, older)).toBe(0);
    expect(compareSpending(later, older)).toBe(-1);
    expect(compareSpending(older, later)).toBe(1);
  });

  it('excludes promotional credit from its expiry instant on', () => {
    const promo = credit({ id: 'p', kind: 'promo', expiresAtMs: 100 });
    const paid = credit({ id: 'q' });
    expect(isExpired(promo, 99)).toBe(false);
    expect(isExpired(promo, 100)).toBe(true);
    expect(isExpired(paid, 100)).toBe(false);
    expect(spendableAccounts([paid, promo], 99)).toEqual([promo, paid]);
    expect(spendableAccounts([paid, promo], 100)).toEqual([paid]);
    expect(spendableAccounts([paid], 100)).toEqual([paid]);
  });
});

describe('planDraw', () => {
  const two = [credit({ id: 'a', balance: 3n }), credit({ id: 'b', balance: 5n })];
  const amounts = (amount: bigint) => planDraw(two, amount).map((part) => [part.account.id, part.amount]);

  it('empties one account before it draws from the next', () => {
    expect(amounts(2n)).toEqual([['a', 2n]]);
    expect(amounts(3n)).toEqual([['a', 3n]]);
    expect(amounts(4n)).toEqual([
      ['a', 3n],
      ['b', 1n],
    ]);
  });

  it('returns less if the accounts do not cover the amount, and nothing for zero', () => {
    expect(sumOf(planDraw(two, 100n))).toBe(8n);
    expect(planDraw(two, 0n)).toEqual([]);
    expect(planDraw([credit({ balance: 0n }), credit({ id: 'b', balance: 1n })], 1n)).toHaveLength(1);
  });

  it('uses a minBigint that returns the smaller amount', () => {
    expect([minBigint(1n, 2n), minBigint(2n, 1n), minBigint(2n, 2n)]).toEqual([1n, 1n, 2n]);
  });
});

describe('budget rules', () => {
  const limitOf = (onExceeded: 'notify' | 'stop_new_work' | 'stop_everything', left: bigint): Account =>
    createTestLedger().addLimit({ onExceeded, left }).limit;

  it.each([
    ['notify', false, false, false],
    ['stop_new_work', true, false, true],
    ['stop_everything', true, true, true],
  ] as const)(
    'with onExceeded %s refuse new work: %s, refuse running work: %s, count holds: %s',
    (onExceeded, fresh, running, held) => {
      const limit = limitOf(onExceeded, 5n);
      expect([budgetBlocks(limit, 'new'), budgetBlocks(limit, 'running'), isHeldInBudget(limit)]).toEqual([
        fresh,
        running,
        held,
      ]);
    },
  );

  it('refuse no work for a deleted budget', () => {
    expect(budgetBlocks(account({ id: 'l', kind: 'limit' }), 'new')).toBe(false);
  });

  it('pick the refusing budget with the smallest remaining amount as the tightest', () => {
    const [wide, tight, soft] = [
      limitOf('stop_everything', 9n),
      limitOf('stop_new_work', 4n),
      limitOf('notify', 1n),
    ];
    expect(tightestBudget([wide, tight, soft], 'new')).toEqual({ limit: tight, left: 4n });
    expect(tightestBudget([tight, wide, soft], 'running')).toEqual({ limit: wide, left: 9n });
    expect(tightestBudget([soft], 'new')).toBeNull();
    const equal = limitOf('stop_everything', 4n);
    expect(tightestBudget([equal, tight], 'new')?.limit).toBe(equal);
  });

  it.each([
    [200n, 200n, 0],
    [200n, 250n, 0],
    [200n, 199n, 0],
    [200n, 198n, 1],
    [200n, 101n, 49],
    [200n, 100n, 50],
    [200n, 0n, 100],
    [200n, -50n, 100],
  ])('report a budget of %s with %s left as %s percent used', (limit, balance, percent) => {
    expect(usedPercent(limit, balance)).toBe(percent);
  });
});
