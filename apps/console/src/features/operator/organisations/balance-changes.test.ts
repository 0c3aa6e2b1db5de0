import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_CHANGE_NANO,
  balanceChange,
  overdraftChange,
  parseAmount,
  parseRefund,
  type BalanceAmounts,
} from './balance-changes.ts';

const usd = (dollars: number): string => (BigInt(dollars) * 1_000_000_000n).toString();
const makeAmounts = (over: Partial<BalanceAmounts> = {}): BalanceAmounts => ({
  balanceNanoUsd: usd(100),
  heldNanoUsd: usd(30),
  availableNanoUsd: usd(70),
  maxOverdraftNanoUsd: '0',
  ...over,
});

describe('amounts', () => {
  it('are parsed without rounding; invalid input is rejected', () => {
    expect(parseAmount('12.345678901')).toEqual({ nano: 12_345_678_901n });
    expect(parseAmount('-5', { signed: true })).toEqual({ nano: -5_000_000_000n });
    for (const text of ['', 'five', '1.0000000001', '1,5']) expect(parseAmount(text)).toHaveProperty('issue');
    expect(parseAmount('0')).toEqual({ issue: 'Enter an amount other than zero.' });
    expect(parseAmount('-5')).toEqual({ issue: 'Enter an amount above zero.' });
  });

  it('are limited to the maximum of the service', () => {
    expect(parseAmount('10,000,000')).toEqual({ nano: MAX_CHANGE_NANO });
    expect(parseAmount('10000000.000000001')).toHaveProperty('issue');
    expect(parseAmount('-10000000.000000001', { signed: true })).toHaveProperty('issue');
  });
});

describe('balanceChange', () => {
  it('changes the balance by exactly the amount', () => {
    const nano = fc.bigInt({ min: -(10n ** 17n), max: 10n ** 17n });
    fc.assert(
      fc.property(nano, nano, nano, (balance, available, amount) => {
        const from = makeAmounts({ balanceNanoUsd: String(balance), availableNanoUsd: String(available) });
        const change = balanceChange(from, amount);
        expect(change.balance.after - change.balance.before).toBe(amount);
        expect(change.available.after - change.available.before).toBe(amount);
        expect(change.issue !== false).toBe(amount < 0n && available + amount < 0n);
      }),
    );
  });

  it('never takes held money', () => {
    expect(balanceChange(makeAmounts(), -70_000_000_000n).issue).toBe(false);
    expect(balanceChange(makeAmounts(), -70_000_000_001n).issue).toContain('$70.00');
  });

  it('allows adding to a balance below its floor', () => {
    expect(balanceChange(makeAmounts({ availableNanoUsd: usd(-5) }), 1n).issue).toBe(false);
  });
});

describe('refunds', () => {
  it('default to the whole charge', () => {
    expect(parseRefund('-2490000000', '')).toEqual({ nano: 2_490_000_000n });
    expect(parseRefund('-2490000000', '2.49')).toEqual({ nano: 2_490_000_000n });
    expect(parseRefund('-2490000000', '2.490000001')).toHaveProperty('issue');
    expect(parseRefund('-2490000000', '-1')).toHaveProperty('issue');
  });
});

describe('overdraftChange', () => {
  it('changes the available amount, not the balance', () => {
    expect(overdraftChange(makeAmounts(), '50')).toMatchObject({
      nano: 50_000_000_000n,
      balance: { before: 100_000_000_000n, after: 100_000_000_000n },
      available: { before: 70_000_000_000n, after: 120_000_000_000n },
      issue: false,
    });
  });

  it('rejects removing an overdraft in use, and says how much must stay', () => {
    const inUse = makeAmounts({
      balanceNanoUsd: usd(-20),
      heldNanoUsd: '0',
      availableNanoUsd: usd(30),
      maxOverdraftNanoUsd: usd(50),
    });
    expect(overdraftChange(inUse, '20').issue).toBe(false);
    expect(overdraftChange(inUse, '19').issue).toContain('$20.00');
    expect(overdraftChange(inUse, 'much').issue).toContain('dollars');
  });
});
