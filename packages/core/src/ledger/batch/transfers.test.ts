import { createIdSource, fromUuid, toUuid, type TransferId } from '@millrace/platform/ids';
import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, it } from 'vitest';
import { availableIn } from './draw.ts';
import type { LedgerSuccess, LedgerResult } from '../model/ledger.ts';
import {
  createTestLedger,
  revenue,
  startMs,
  findInconsistencies,
  usd,
  type TestLedger,
} from './test-ledger.fixture.ts';

const ids = createIdSource({ clock: new SimulatedClock(startMs), cell: 2 });

function ok(result: LedgerResult): LedgerSuccess {
  if (!result.ok) throw new Error(`Refused: ${result.reason}`);
  return result;
}

const clearing = (amount: number) =>
  [{ account: { kind: 'payments_clearing' }, amount: usd(amount) }] as const;
const topUp = (amount: number) =>
  ({
    do: 'credit',
    kind: 'top_up',
    amount: usd(amount),
    from: clearing(amount),
    description: 'Paid',
  }) as const;
const charge = (amount: number, whenShort: 'refuse' | 'shortfall' = 'refuse') =>
  ({
    do: 'debit',
    kind: 'charge',
    amount: usd(amount),
    to: revenue(amount),
    whenShort,
    description: 'Used',
  }) as const;

/** Makes a transfer of this batch undoable, as the store does for a stored transfer. */
function keep(ledger: TestLedger, transferId: TransferId | null): TransferId {
  if (transferId === null) throw new Error('no transfer');
  const uuid = toUuid(transferId);
  const transfer = ledger.slice.newTransfers.find(({ id }) => id === uuid);
  if (transfer === undefined) throw new Error('not in the batch');
  ledger.slice.undoable.set(uuid, {
    id: uuid,
    orgId: transfer.orgId,
    mode: transfer.mode,
    kind: transfer.kind,
    keyId: transfer.keyId,
    entries: ledger.slice.newEntries
      .filter((entry) => entry.transferId === uuid)
      .map(({ accountId, amount }) => ({ accountId, amount })),
    undone: new Map(),
    reversed: false,
    isWrittenOff: false,
  });
  return transferId;
}

describe('credit', () => {
  it('moves money from its source to the credit account', () => {
    const ledger = createTestLedger({ balance: 1n });
    expect(ok(ledger.run(topUp(5)))).toMatchObject({ amount: 5n, balanceAfter: 6n, holdId: null, held: 0n });
    expect([ledger.wallet.credit.balance, ledger.system({ kind: 'payments_clearing' }).balance]).toEqual([
      6n,
      -5n,
    ]);
    expect(ledger.slice.newTransfers).toMatchObject([
      { kind: 'top_up', amount: 5n, description: 'Paid', keyId: null },
    ]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('is idempotent for a cause and step, and refuses the step for another command', () => {
    const ledger = createTestLedger();
    const first = ledger.run({ ...topUp(5), step: 'same' });
    expect(ledger.run({ ...topUp(5), step: 'same' })).toEqual({ ...first, replayed: true });
    expect(ledger.run({ ...charge(1), step: 'same' })).toMatchObject({ reason: 'STEP_REUSED' });
    expect(ledger.wallet.credit.balance).toBe(5n);
  });

  it('of zero moves no money, and sources must add up', () => {
    const ledger = createTestLedger();
    expect(ok(ledger.run(topUp(0)))).toMatchObject({ transferId: null, balanceAfter: 0n });
    expect(ledger.slice.newTransfers).toEqual([]);
    expect(() => ledger.run({ ...topUp(5), from: clearing(4) })).toThrow('add up');
  });

  it('with promo opens a separate promotional account', () => {
    const ledger = createTestLedger({ balance: 1n });
    const expiresAt = new Date(startMs + 1_000);
    const result = ok(
      ledger.run({
        do: 'credit',
        kind: 'grant',
        amount: usd(4),
        from: [{ account: { kind: 'grants' }, amount: usd(4) }],
        promo: { priority: 7, expiresAt },
        description: 'Welcome',
      }),
    );
    expect(result.balanceAfter).toBe(5n);
    const promo = ledger.wallet.money.at(-1);
    expect(promo).toMatchObject({
      kind: 'promo',
      balance: 4n,
      floor: 0n,
      priority: 7,
      expiresAtMs: startMs + 1_000,
      isNew: true,
      touched: true,
      frozen: false,
    });
    expect(ledger.wallet.credit).toMatchObject({ balance: 1n, hasCompanions: true, touched: true });
    expect(ledger.slice.accounts.get(promo?.id ?? '')).toBe(promo);
    ledger.run({ ...charge(2) });
    expect([promo?.balance, ledger.wallet.credit.balance]).toEqual([2n, 1n]);
    ledger.run({ ...topUp(1), promo: { priority: 1, expiresAt: null } });
    expect(ledger.wallet.money.at(-1)?.expiresAtMs).toBeNull();
  });

  const backFromSupplier = (ledger: TestLedger, ofSupplier: number, fee: number) =>
    ({
      do: 'credit',
      kind: 'credit',
      amount: usd(ofSupplier + fee),
      from: [
        { account: { kind: 'supplier_payable', orgId: ledger.supplierId }, amount: usd(ofSupplier) },
        { account: { kind: 'platform_fee' }, amount: usd(fee) },
      ],
      description: 'Host at fault',
    }) as const;

  it('taken back from a supplier that was paid out becomes a debt of the supplier only', () => {
    const ledger = createTestLedger();
    ledger.payable.balance = 3n;
    ledger.run(backFromSupplier(ledger, 8, 2));
    expect(ledger.payable).toMatchObject({ balance: -5n, floor: -5n });
    expect(ledger.system({ kind: 'shortfall' }).balance).toBe(0n);
    expect(ledger.system({ kind: 'platform_fee' }).balance).toBe(-2n);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it("repays a supplier's debt from its earnings before they become available", () => {
    const ledger = createTestLedger({ balance: 50n });
    const to = (amount: number) =>
      [{ account: { kind: 'supplier_payable', orgId: ledger.supplierId }, amount: usd(amount) }] as const;
    ledger.run(backFromSupplier(ledger, 5, 0));
    ledger.run({ ...charge(3), to: to(3) });
    expect(ledger.payable).toMatchObject({ balance: -2n, floor: -2n });
    expect(availableIn(ledger.payable)).toBe(0n);
    ledger.run({ ...charge(6), to: to(6) });
    expect(ledger.payable).toMatchObject({ balance: 4n, floor: 0n });
    expect(availableIn(ledger.payable)).toBe(4n);
  });

  it('of an absorbed charge returns the absorbed part to the operator and the rest to the organisation', () => {
    const ledger = createTestLedger();
    const keyId = ids.next('key');
    const back = {
      do: 'credit',
      kind: 'credit',
      amount: usd(10),
      from: revenue(10),
      description: 'Back',
    } as const;
    const given = ok(ledger.run({ ...back, absorbed: usd(4), keyId, usage: { gpuMs: 7 } }));
    expect(given).toMatchObject({ amount: 6n, balanceAfter: 6n, shortfall: 0n });
    expect([ledger.wallet.credit.balance, ledger.system({ kind: 'shortfall' }).balance]).toEqual([6n, 4n]);
    expect(ledger.system({ kind: 'revenue', product: 'rental' }).balance).toBe(-10n);
    expect(ledger.slice.newTransfers).toMatchObject([
      { amount: 6n, keyId: toUuid(keyId), usage: { gpuMs: 7 } },
    ]);
    expect(ok(ledger.run({ ...back, absorbed: usd(10) }))).toMatchObject({ amount: 0n, balanceAfter: 6n });
    expect(ledger.slice.newTransfers.at(-1)).toMatchObject({ amount: 0n, keyId: null, usage: null });
    expect(() => ledger.run({ ...back, absorbed: usd(11) })).toThrow('absorbed 11 of 10');
    expect(() => ledger.run({ ...back, absorbed: usd(-1) })).toThrow(RangeError);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('of an absorbed charge is taken from the supplier, also after its payout', () => {
    const ledger = createTestLedger();
    const account = { kind: 'supplier_payable', orgId: ledger.supplierId } as const;
    const from = [{ account, amount: usd(10) }];
    const back = { do: 'credit', kind: 'credit', amount: usd(10), from, description: 'Back' } as const;
    expect(ok(ledger.run({ ...back, absorbed: usd(10) })).transferId).not.toBeNull();
    expect([ledger.payable.balance, ledger.system({ kind: 'shortfall' }).balance]).toEqual([-10n, 10n]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('from the shortfall account to itself moves no money', () => {
    const ledger = createTestLedger();
    const from = [{ account: { kind: 'shortfall' }, amount: usd(10) }] as const;
    const back = { do: 'credit', kind: 'credit', amount: usd(10), from, description: 'Back' } as const;
    expect(ok(ledger.run({ ...back, absorbed: usd(10) }))).toMatchObject({ amount: 0n, transferId: null });
    expect(ledger.slice.newTransfers).toEqual([]);
  });
});

describe('debit', () => {
  it('takes up to exactly the balance, and refuses the whole amount above it', () => {
    const ledger = createTestLedger({ balance: 5n });
    expect(ledger.run(charge(6))).toEqual({
      ok: false,
      reason: 'INSUFFICIENT_BALANCE',
      available: 5n,
      budgetId: null,
    });
    expect(ok(ledger.run({ ...charge(5), usage: { requests: 1 } }))).toMatchObject({
      amount: -5n,
      balanceAfter: 0n,
    });
    expect(ledger.slice.newTransfers).toMatchObject([
      { usage: { requests: 1 }, holdId: null, reverses: null },
    ]);
    expect(ok(ledger.run(charge(0))).transferId).toBeNull();
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('does not take held money', () => {
    const ledger = createTestLedger({ balance: 5n });
    ledger.run({ do: 'hold', amount: usd(3), demand: 'new' });
    expect(ledger.run(charge(3))).toMatchObject({ available: 2n });
    expect(ledger.run(charge(2)).ok).toBe(true);
  });

  it('beyond the balance is absorbed by the operator with whenShort shortfall', () => {
    const ledger = createTestLedger({ balance: 5n });
    expect(ok(ledger.run(charge(8, 'shortfall')))).toMatchObject({ amount: -5n, shortfall: 3n });
    expect(ledger.system({ kind: 'shortfall' }).balance).toBe(-3n);
    expect(ledger.system({ kind: 'revenue', product: 'rental' }).balance).toBe(8n);
    expect(ok(ledger.run(charge(2, 'shortfall')))).toMatchObject({ amount: 0n, shortfall: 2n });
  });

  it('counts against budgets and is refused by them as a charge, but not as an adjustment', () => {
    const ledger = createTestLedger({ balance: 100n });
    const { limit, id } = ledger.addLimit({ left: 10n, onExceeded: 'stop_new_work' });
    expect(ledger.run(charge(11))).toEqual({
      ok: false,
      reason: 'BUDGET_EXCEEDED',
      available: 10n,
      budgetId: id,
    });
    expect(ledger.run(charge(101))).toMatchObject({ reason: 'INSUFFICIENT_BALANCE' });
    ledger.run(charge(6));
    expect(limit.balance).toBe(4n);
    expect(ledger.slice.notices).toMatchObject([{ thresholdPercent: 50 }]);
    ledger.run({
      ...charge(20),
      kind: 'adjustment',
      to: [{ account: { kind: 'adjustments' }, amount: usd(20) }],
    });
    expect(limit.balance).toBe(4n);
    expect(ok(ledger.run(charge(9, 'shortfall')))).toMatchObject({ amount: -4n, shortfall: 5n });
    expect(limit.balance).toBe(0n);
  });

  it('records its key', () => {
    const ledger = createTestLedger({ balance: 5n });
    const keyId = ids.next('key');
    ledger.run({ ...charge(1), keyId });
    expect(ledger.slice.newTransfers).toMatchObject([{ keyId: toUuid(keyId) }]);
  });

  it('as a clawback takes paid money before promotional credit', () => {
    const ledger = createTestLedger({ balance: 5n });
    const promo = ledger.addPromo({ balance: 4n, priority: 1 });
    const taken = { do: 'debit', kind: 'clawback', whenShort: 'shortfall', description: 'Refunded' } as const;
    ok(ledger.run({ ...taken, amount: usd(5), to: clearing(5) }));
    expect([ledger.wallet.credit.balance, promo.balance]).toEqual([0n, 4n]);
    expect(ok(ledger.run({ ...taken, amount: usd(6), to: clearing(6) }))).toMatchObject({
      amount: -4n,
      shortfall: 2n,
    });
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('as a payout takes supplier earnings, not credit', () => {
    const ledger = createTestLedger({ balance: 50n });
    const earned = { ...ledger.payable, id: ids.nextUuid(), orgId: ledger.wallet.orgId, balance: 9n };
    ledger.slice.payables.set(`${ledger.wallet.orgId}:live`, earned);
    const payout = { ...charge(9), kind: 'payout', to: clearing(9) } as const;
    expect(ledger.run({ ...payout, amount: usd(10), to: clearing(10) })).toMatchObject({ available: 9n });
    expect(ok(ledger.run(payout)).amount).toBe(-9n);
    expect([earned.balance, ledger.wallet.credit.balance]).toEqual([0n, 50n]);
  });
});

describe('refund', () => {
  const charged = (ledger: TestLedger, amount: number): TransferId =>
    keep(ledger, ok(ledger.run(charge(amount))).transferId);
  const refund = (transferId: TransferId, amount: number) =>
    ({ do: 'refund', transferId, amount: usd(amount), description: 'Sorry' }) as const;

  it('returns paid money before promotional credit, and never more than the charge', () => {
    const ledger = createTestLedger({ balance: 10n });
    const promo = ledger.addPromo({ balance: 3n, priority: 1 });
    const transferId = charged(ledger, 8);
    expect(ok(ledger.run(refund(transferId, 6)))).toMatchObject({ amount: 6n, balanceAfter: 11n });
    expect([promo.balance, ledger.wallet.credit.balance]).toEqual([1n, 10n]);
    expect(ledger.run(refund(transferId, 3))).toMatchObject({
      reason: 'TRANSFER_NOT_REVERSIBLE',
      available: 2n,
    });
    expect(ledger.run(refund(transferId, 2)).ok).toBe(true);
    expect(ledger.run(refund(transferId, 1))).toMatchObject({ available: 0n });
    expect(promo.balance).toBe(3n);
    expect(ledger.system({ kind: 'revenue', product: 'rental' }).balance).toBe(0n);
    expect(ledger.slice.newTransfers.at(-1)).toMatchObject({ kind: 'refund', reverses: toUuid(transferId) });
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('takes the amount back from all recipients in proportion', () => {
    const ledger = createTestLedger({ balance: 10n });
    const to = [
      { account: { kind: 'supplier_payable', orgId: ledger.supplierId }, amount: usd(8) },
      { account: { kind: 'platform_fee' }, amount: usd(2) },
    ] as const;
    const transferId = keep(ledger, ok(ledger.run({ ...charge(10), to })).transferId);
    ledger.payable.balance = 6n;
    // The shares of 9 are 7.2 and 1.8, rounded to 7 and 2. The supplier has only 6 left and owes 1.
    ledger.run(refund(transferId, 9));
    expect([ledger.payable.balance, ledger.system({ kind: 'platform_fee' }).balance]).toEqual([-1n, 0n]);
    expect(ledger.system({ kind: 'shortfall' }).balance).toBe(0n);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('does not refill a budget', () => {
    const ledger = createTestLedger({ balance: 10n });
    const { limit } = ledger.addLimit({ left: 10n });
    const transferId = charged(ledger, 4);
    ledger.run(refund(transferId, 4));
    expect(limit.balance).toBe(6n);
    expect(ledger.slice.newEntries.filter((entry) => entry.accountId === limit.id)).toHaveLength(1);
  });

  it('applies only to charges of this organisation, must be positive, and is idempotent', () => {
    const ledger = createTestLedger({ balance: 10n });
    const paid = keep(ledger, ok(ledger.run(topUp(5))).transferId);
    expect(ledger.run(refund(paid, 1))).toMatchObject({ reason: 'TRANSFER_NOT_REVERSIBLE', available: 0n });
    expect(ledger.run(refund(ids.next('trf'), 1))).toMatchObject({ reason: 'TRANSFER_NOT_FOUND' });
    const transferId = charged(ledger, 5);
    expect(ledger.run(refund(transferId, 0))).toMatchObject({ reason: 'TRANSFER_NOT_REVERSIBLE' });
    const first = ledger.run({ ...refund(transferId, 2), step: 'same' });
    expect(ledger.run({ ...refund(transferId, 2), step: 'same' })).toEqual({ ...first, replayed: true });
    const source = ledger.slice.undoable.get(toUuid(transferId));
    Object.assign(source ?? {}, { orgId: 'other' });
    expect(ledger.run(refund(transferId, 1))).toMatchObject({ reason: 'TRANSFER_NOT_FOUND' });
    Object.assign(source ?? {}, { orgId: ledger.wallet.orgId, mode: 'test' });
    expect(ledger.run(refund(transferId, 1))).toMatchObject({ reason: 'TRANSFER_NOT_FOUND' });
  });
});

describe('reversal', () => {
  const reverse = (transferId: TransferId) =>
    ({ do: 'reverse', transferId, description: 'Mistake' }) as const;

  it('is the exact opposite, once', () => {
    const ledger = createTestLedger({ balance: 10n });
    const promo = ledger.addPromo({ balance: 3n, priority: 1 });
    const keyId = ids.next('key');
    const transferId = keep(ledger, ok(ledger.run({ ...charge(8), keyId })).transferId);
    expect(ok(ledger.run({ ...reverse(transferId), step: 'same' }))).toMatchObject({
      amount: 8n,
      balanceAfter: 13n,
    });
    expect([promo.balance, ledger.wallet.credit.balance]).toEqual([3n, 10n]);
    expect(ledger.slice.newTransfers.at(-1)).toMatchObject({ kind: 'reversal', keyId: toUuid(keyId) });
    expect(ledger.run(reverse(transferId))).toMatchObject({ reason: 'TRANSFER_NOT_REVERSIBLE' });
    expect(ledger.run({ do: 'refund', transferId, amount: usd(1), description: 'x' })).toMatchObject({
      reason: 'TRANSFER_NOT_REVERSIBLE',
    });
    expect(ok(ledger.run({ ...reverse(transferId), step: 'same' })).replayed).toBe(true);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('of a top-up is refused if the money was spent', () => {
    const ledger = createTestLedger();
    const transferId = keep(ledger, ok(ledger.run(topUp(5))).transferId);
    ledger.run(charge(1));
    expect(ledger.run(reverse(transferId))).toMatchObject({ reason: 'INSUFFICIENT_BALANCE', available: 4n });
    ledger.run(topUp(1));
    expect(ok(ledger.run(reverse(transferId))).amount).toBe(-5n);
    expect(ledger.system({ kind: 'payments_clearing' }).balance).toBe(-1n);
  });

  it("of a charge takes the supplier's share back, as a debt after a payout", () => {
    const ledger = createTestLedger({ balance: 10n });
    const to = [
      { account: { kind: 'supplier_payable', orgId: ledger.supplierId }, amount: usd(8) },
      { account: { kind: 'platform_fee' }, amount: usd(2) },
    ] as const;
    const transferId = keep(ledger, ok(ledger.run({ ...charge(10), to })).transferId);
    ledger.payable.balance = 1n;
    expect(ok(ledger.run(reverse(transferId))).amount).toBe(10n);
    expect(ledger.payable).toMatchObject({ balance: -7n, floor: -7n });
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('is refused after a refund, and for irreversible kinds', () => {
    const ledger = createTestLedger({ balance: 10n });
    const transferId = keep(ledger, ok(ledger.run(charge(5))).transferId);
    const refunded = ok(
      ledger.run({ do: 'refund', transferId, amount: usd(1), description: 'x' }),
    ).transferId;
    expect(ledger.run(reverse(transferId))).toMatchObject({ reason: 'TRANSFER_NOT_REVERSIBLE' });
    expect(ledger.run(reverse(keep(ledger, refunded)))).toMatchObject({ reason: 'TRANSFER_NOT_REVERSIBLE' });
    expect(ledger.run(reverse(ids.next('trf')))).toMatchObject({ reason: 'TRANSFER_NOT_FOUND' });
  });
});

describe('promotional credit expiry', () => {
  it('takes the unheld credit from the expiry instant on, once per step', () => {
    const ledger = createTestLedger();
    const promo = ledger.addPromo({ balance: 9n, expiresAtMs: startMs + 10 });
    const expire = (step: string) => ledger.run({ do: 'expire', accountId: fromUuid('lac', promo.id), step });
    ledger.run({ do: 'hold', amount: usd(4), demand: 'new' });
    expect(ok(expire('early')).transferId).toBeNull();
    Object.assign(ledger.slice, { nowMs: startMs + 10 });
    expect(ok(expire('now'))).toMatchObject({ amount: -5n, balanceAfter: 4n });
    expect([promo.balance, ledger.system({ kind: 'grants' }).balance]).toEqual([4n, 5n]);
    expect(ok(expire('now')).replayed).toBe(true);
    expect(ok(expire('again')).transferId).toBeNull();
    expect(ok(ledger.run({ do: 'expire', accountId: ids.next('lac') })).transferId).toBeNull();
    expect(ledger.slice.newTransfers).toMatchObject([
      { kind: 'expiry', description: 'Promotional credit expired' },
    ]);
  });
});

describe('limit command', () => {
  it('moves a budget against its contra account and no money', () => {
    const ledger = createTestLedger({ balance: 10n });
    const { limit, id } = ledger.addLimit({ left: 10n });
    expect(ok(ledger.run({ do: 'limit', budgetId: id, by: usd(5), step: 'same' }))).toMatchObject({
      amount: 0n,
    });
    expect(ok(ledger.run({ do: 'limit', budgetId: id, by: usd(5), step: 'same' })).replayed).toBe(true);
    expect([limit.balance, ledger.system({ kind: 'limit_contra' }).balance]).toEqual([15n, -5n]);
    expect(ok(ledger.run({ do: 'limit', budgetId: id, by: usd(0) })).transferId).toBeNull();
    expect(ledger.run({ do: 'limit', budgetId: ids.next('bdg'), by: usd(1) })).toMatchObject({
      reason: 'BUDGET_NOT_FOUND',
    });
  });

  it('with rest releases the remaining amount of the new period if the old one ended', () => {
    const ledger = createTestLedger({ balance: 100n });
    const { limit, id } = ledger.addLimit({ left: 4n, limit: 10n, held: 3n, periodEndMs: startMs });
    expect(ledger.run({ do: 'limit', budgetId: id, by: 'rest' }).ok).toBe(true);
    expect([limit.balance, limit.held]).toEqual([3n, 3n]);
    expect(ledger.slice.newTransfers).toHaveLength(2);
  });

  it('below the spent amount lowers the floor until the limit is raised again', () => {
    const ledger = createTestLedger({ balance: 100n });
    const { limit, id } = ledger.addLimit({ left: 10n, limit: 10n });
    ledger.run({ do: 'hold', amount: usd(8), demand: 'new' });
    ledger.run({ do: 'limit', budgetId: id, by: usd(-5) });
    expect([limit.balance, limit.held, limit.floor]).toEqual([5n, 8n, -3n]);
    expect(ledger.run({ do: 'hold', amount: usd(1), demand: 'running' })).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
    });
    ledger.run({ do: 'limit', budgetId: id, by: usd(3) });
    expect(limit.floor).toBe(0n);
    const notifying = ledger.addLimit({ left: 10n, onExceeded: 'notify' });
    ledger.run({ do: 'limit', budgetId: notifying.id, by: usd(-50) });
    expect([notifying.limit.balance, notifying.limit.floor]).toEqual([-40n, null]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });
});

describe('batch', () => {
  it('shows a reversal to later commands and leaves budgets unchanged', () => {
    const ledger = createTestLedger({ balance: 10n });
    const { limit } = ledger.addLimit({ left: 10n, limit: 10n, onExceeded: 'notify' });
    const transferId = keep(ledger, ok(ledger.run(charge(4))).transferId);
    expect(ledger.run({ do: 'reverse', transferId, description: 'Mistake' }).ok).toBe(true);
    expect([limit.balance, ledger.wallet.credit.balance]).toEqual([6n, 10n]);
    expect(ledger.slice.undoable.get(toUuid(transferId))).toMatchObject({ reversed: true });
    expect(ledger.slice.undoable.get(toUuid(transferId))?.undone.get(ledger.wallet.credit.id)).toBe(4n);
    expect(findInconsistencies(ledger)).toEqual([]);
  });
});
