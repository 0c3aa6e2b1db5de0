import { createIdSource, type HoldId } from '@millrace/platform/ids';
import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, it } from 'vitest';
import { availableIn } from './draw.ts';
import type { LedgerSuccess, LedgerResult } from '../model/ledger.ts';
import {
  account,
  createTestLedger,
  revenue,
  startMs,
  findInconsistencies,
  usd,
  type TestLedger,
} from './test-ledger.fixture.ts';
import { walletKeyOf } from './working-set.ts';

const ids = createIdSource({ clock: new SimulatedClock(startMs), cell: 2 });

function ok(result: LedgerResult): LedgerSuccess {
  if (!result.ok) throw new Error(`Refused: ${result.reason}`);
  return result;
}

function openSupplier(earned: bigint, options: { readonly frozen?: boolean } = {}) {
  const ledger = createTestLedger({ balance: 50n, ...options });
  const { orgId } = ledger.wallet;
  const earnings = account({
    id: ids.nextUuid(),
    kind: 'supplier_payable',
    orgId,
    balance: earned,
    floor: 0n,
  });
  ledger.slice.accounts.set(earnings.id, earnings);
  ledger.slice.payables.set(walletKeyOf(orgId, 'live'), earnings);
  return { ledger: ledger, earnings };
}

const holdCommand = (amount: number, step = 'request') =>
  ({ do: 'hold', of: 'earnings', amount: usd(amount), demand: 'new', step }) as const;

function placeHold(ledger: TestLedger, amount: number, step?: string): HoldId {
  const { holdId } = ok(ledger.run(holdCommand(amount, step)));
  if (holdId === null) throw new Error('no hold');
  return holdId;
}

const payOut = (holdId: HoldId, step = 'paid') =>
  ({ do: 'pay_out', holdId, description: 'Payout', step }) as const;

const giveBack = (ledger: TestLedger, amount: number) =>
  ({
    do: 'credit',
    kind: 'credit',
    amount: usd(amount),
    from: [{ account: { kind: 'supplier_payable', orgId: ledger.orgId }, amount: usd(amount) }],
    description: 'Host at fault',
  }) as const;

describe('payout request', () => {
  it('holds earnings only, never spendable credit, up to the earned amount', () => {
    const { ledger, earnings } = openSupplier(10n);
    const { limit } = ledger.addLimit({ left: 1n });
    placeHold(ledger, 7, 'one');
    expect([earnings.held, ledger.wallet.credit.held, limit.held]).toEqual([7n, 0n, 0n]);
    expect(ledger.run(holdCommand(4, 'two'))).toMatchObject({
      reason: 'INSUFFICIENT_BALANCE',
      available: 3n,
    });
    expect(ok(ledger.run(holdCommand(7, 'one'))).replayed).toBe(true);
    placeHold(ledger, 3, 'three');
    expect(availableIn(earnings)).toBe(0n);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('is refused while the account is frozen', () => {
    const { ledger } = openSupplier(10n, { frozen: true });
    expect(ledger.run(holdCommand(1))).toMatchObject({ reason: 'ACCOUNT_FROZEN' });
  });

  it('is paid once, from its hold', () => {
    const { ledger, earnings } = openSupplier(10n);
    const holdId = placeHold(ledger, 7);
    expect(ok(ledger.run(payOut(holdId)))).toMatchObject({ amount: -7n, held: 0n, balanceAfter: 50n });
    expect(ok(ledger.run(payOut(holdId)))).toMatchObject({ amount: -7n, replayed: true });
    expect(ledger.run(payOut(holdId, 'once more'))).toMatchObject({ reason: 'HOLD_CLOSED' });
    expect([earnings.balance, earnings.held]).toEqual([3n, 0n]);
    expect(ledger.system({ kind: 'payments_clearing' }).balance).toBe(7n);
    expect(ledger.slice.newTransfers).toMatchObject([{ kind: 'payout', amount: -7n }]);
    expect([...ledger.slice.holds.values()]).toMatchObject([{ posted: 7n, closedAtMs: startMs }]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('can be repeated after a rejection', () => {
    const { ledger, earnings } = openSupplier(10n);
    const holdId = placeHold(ledger, 10);
    expect(ok(ledger.run({ do: 'close', of: 'earnings', holdId })).held).toBe(0n);
    expect(ok(ledger.run({ do: 'close', of: 'earnings', holdId })).replayed).toBe(true);
    expect(ledger.run(payOut(holdId))).toMatchObject({ reason: 'HOLD_CLOSED' });
    expect(availableIn(earnings)).toBe(10n);
  });

  it('is paid in full despite refunds meanwhile, which the supplier then owes', () => {
    const { ledger, earnings } = openSupplier(10n);
    const holdId = placeHold(ledger, 10);
    ledger.run(giveBack(ledger, 4));
    expect(earnings).toMatchObject({ balance: 6n, held: 10n, floor: -4n });
    expect(ledger.run(holdCommand(1, 'more'))).toMatchObject({ available: 0n });
    expect(ok(ledger.run(payOut(holdId))).amount).toBe(-10n);
    expect(earnings).toMatchObject({ balance: -4n, held: 0n, floor: -4n });
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it("repays the supplier's debt from its hold if it is rejected", () => {
    const { ledger, earnings } = openSupplier(10n);
    const holdId = placeHold(ledger, 10);
    ledger.run(giveBack(ledger, 4));
    ledger.run({ do: 'close', of: 'earnings', holdId });
    expect(earnings).toMatchObject({ balance: 6n, held: 0n, floor: 0n });
    expect(availableIn(earnings)).toBe(6n);
  });

  it('can only be paid or closed as earnings, and other holds cannot be paid out', () => {
    const { ledger } = openSupplier(10n);
    const holdId = placeHold(ledger, 5);
    const unknown = { reason: 'HOLD_NOT_FOUND' };
    expect(ledger.run({ do: 'close', holdId })).toMatchObject(unknown);
    expect(ledger.run({ do: 'resize', holdId, target: usd(9), demand: 'new' })).toMatchObject(unknown);
    const post = { do: 'post', holdId, amount: usd(1), to: revenue(1), afterwards: 'keep' } as const;
    expect(ledger.run({ ...post, description: 'Used' })).toMatchObject(unknown);
    const spent = ok(ledger.run({ do: 'hold', amount: usd(3), demand: 'new' })).holdId;
    if (spent === null) throw new Error('no hold');
    expect(ledger.run(payOut(spent))).toMatchObject(unknown);
    expect(ledger.run({ do: 'close', of: 'earnings', holdId: spent })).toMatchObject(unknown);
    // An account that is not loaded must be a payable account that the command does not name.
    ledger.slice.accounts.clear();
    expect(ledger.run({ do: 'close', holdId })).toMatchObject(unknown);
  });
});
