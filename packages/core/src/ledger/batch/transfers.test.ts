import { createIdSource, fromUuid, toUuid, type TransferId } from '@millrace/platform/ids';
import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, it } from 'vitest';
import { availableIn } from './draw.ts';
import type { LedgerSuccess, LedgerResult } from '../ledger.ts';
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

/** Makes a transfer of this batch undoable, as the store does with one that is in the books. */
function keep(books: TestLedger, transferId: TransferId | null): TransferId {
  if (transferId === null) throw new Error('no transfer');
  const uuid = toUuid(transferId);
  const transfer = books.slice.newTransfers.find(({ id }) => id === uuid);
  if (transfer === undefined) throw new Error('not in the batch');
  books.slice.undoable.set(uuid, {
    id: uuid,
    orgId: transfer.orgId,
    mode: transfer.mode,
    kind: transfer.kind,
    keyId: transfer.keyId,
    entries: books.slice.newEntries
      .filter((entry) => entry.transferId === uuid)
      .map(({ accountId, amount }) => ({ accountId, amount })),
    undone: new Map(),
    reversed: false,
    isWrittenOff: false,
  });
  return transferId;
}

describe('money coming in', () => {
  it('goes to the credit account from where it came', () => {
    const books = createTestLedger({ balance: 1n });
    expect(ok(books.run(topUp(5)))).toMatchObject({ amount: 5n, balanceAfter: 6n, holdId: null, held: 0n });
    expect([books.wallet.credit.balance, books.system({ kind: 'payments_clearing' }).balance]).toEqual([
      6n,
      -5n,
    ]);
    expect(books.slice.newTransfers).toMatchObject([
      { kind: 'top_up', amount: 5n, description: 'Paid', keyId: null },
    ]);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('happens once for a cause and step, and the step cannot serve for something else', () => {
    const books = createTestLedger();
    const first = books.run({ ...topUp(5), step: 'same' });
    expect(books.run({ ...topUp(5), step: 'same' })).toEqual({ ...first, replayed: true });
    expect(books.run({ ...charge(1), step: 'same' })).toMatchObject({ reason: 'STEP_REUSED' });
    expect(books.wallet.credit.balance).toBe(5n);
  });

  it('of nothing moves nothing, and sources must add up', () => {
    const books = createTestLedger();
    expect(ok(books.run(topUp(0)))).toMatchObject({ transferId: null, balanceAfter: 0n });
    expect(books.slice.newTransfers).toEqual([]);
    expect(() => books.run({ ...topUp(5), from: clearing(4) })).toThrow('add up');
  });

  it('as promotional credit opens an account of its own', () => {
    const books = createTestLedger({ balance: 1n });
    const expiresAt = new Date(startMs + 1_000);
    const result = ok(
      books.run({
        do: 'credit',
        kind: 'grant',
        amount: usd(4),
        from: [{ account: { kind: 'grants' }, amount: usd(4) }],
        promo: { priority: 7, expiresAt },
        description: 'Welcome',
      }),
    );
    expect(result.balanceAfter).toBe(5n);
    const promo = books.wallet.money.at(-1);
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
    expect(books.wallet.credit).toMatchObject({ balance: 1n, hasCompanions: true, touched: true });
    expect(books.slice.accounts.get(promo?.id ?? '')).toBe(promo);
    books.run({ ...charge(2) });
    expect([promo?.balance, books.wallet.credit.balance]).toEqual([2n, 1n]);
    books.run({ ...topUp(1), promo: { priority: 1, expiresAt: null } });
    expect(books.wallet.money.at(-1)?.expiresAtMs).toBeNull();
  });

  const backFromSupplier = (books: TestLedger, ofSupplier: number, fee: number) =>
    ({
      do: 'credit',
      kind: 'credit',
      amount: usd(ofSupplier + fee),
      from: [
        { account: { kind: 'supplier_payable', orgId: books.supplierId }, amount: usd(ofSupplier) },
        { account: { kind: 'platform_fee' }, amount: usd(fee) },
      ],
      description: 'Host at fault',
    }) as const;

  it('given back by a supplier that was paid out is owed by the supplier, and nobody else bears it', () => {
    const books = createTestLedger();
    books.payable.balance = 3n;
    books.run(backFromSupplier(books, 8, 2));
    expect(books.payable).toMatchObject({ balance: -5n, floor: -5n });
    expect(books.system({ kind: 'shortfall' }).balance).toBe(0n);
    expect(books.system({ kind: 'platform_fee' }).balance).toBe(-2n);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('earned by a supplier that owes makes up for the debt before any of it can be had', () => {
    const books = createTestLedger({ balance: 50n });
    const to = (amount: number) =>
      [{ account: { kind: 'supplier_payable', orgId: books.supplierId }, amount: usd(amount) }] as const;
    books.run(backFromSupplier(books, 5, 0));
    books.run({ ...charge(3), to: to(3) });
    expect(books.payable).toMatchObject({ balance: -2n, floor: -2n });
    expect(availableIn(books.payable)).toBe(0n);
    books.run({ ...charge(6), to: to(6) });
    expect(books.payable).toMatchObject({ balance: 4n, floor: 0n });
    expect(availableIn(books.payable)).toBe(4n);
  });

  it('given back for what the operator bore goes to the operator, and the rest to the organisation', () => {
    const books = createTestLedger();
    const keyId = ids.next('key');
    const back = {
      do: 'credit',
      kind: 'credit',
      amount: usd(10),
      from: revenue(10),
      description: 'Back',
    } as const;
    const given = ok(books.run({ ...back, borne: usd(4), keyId, usage: { gpuMs: 7 } }));
    expect(given).toMatchObject({ amount: 6n, balanceAfter: 6n, shortfall: 0n });
    expect([books.wallet.credit.balance, books.system({ kind: 'shortfall' }).balance]).toEqual([6n, 4n]);
    expect(books.system({ kind: 'revenue', product: 'rental' }).balance).toBe(-10n);
    expect(books.slice.newTransfers).toMatchObject([
      { amount: 6n, keyId: toUuid(keyId), usage: { gpuMs: 7 } },
    ]);
    expect(ok(books.run({ ...back, borne: usd(10) }))).toMatchObject({ amount: 0n, balanceAfter: 6n });
    expect(books.slice.newTransfers.at(-1)).toMatchObject({ amount: 0n, keyId: null, usage: null });
    expect(() => books.run({ ...back, borne: usd(11) })).toThrow('borne 11 of 10');
    expect(() => books.run({ ...back, borne: usd(-1) })).toThrow(RangeError);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('given back for what the operator bore is the supplier to give, also when it was paid out', () => {
    const books = createTestLedger();
    const account = { kind: 'supplier_payable', orgId: books.supplierId } as const;
    const from = [{ account, amount: usd(10) }];
    const back = { do: 'credit', kind: 'credit', amount: usd(10), from, description: 'Back' } as const;
    expect(ok(books.run({ ...back, borne: usd(10) })).transferId).not.toBeNull();
    expect([books.payable.balance, books.system({ kind: 'shortfall' }).balance]).toEqual([-10n, 10n]);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('that the operator bore and gives itself moves nothing', () => {
    const books = createTestLedger();
    const from = [{ account: { kind: 'shortfall' }, amount: usd(10) }] as const;
    const back = { do: 'credit', kind: 'credit', amount: usd(10), from, description: 'Back' } as const;
    expect(ok(books.run({ ...back, borne: usd(10) }))).toMatchObject({ amount: 0n, transferId: null });
    expect(books.slice.newTransfers).toEqual([]);
  });
});

describe('money going out', () => {
  it('is taken to the last nano-USD, and refused whole when one is missing', () => {
    const books = createTestLedger({ balance: 5n });
    expect(books.run(charge(6))).toEqual({
      ok: false,
      reason: 'INSUFFICIENT_BALANCE',
      available: 5n,
      budgetId: null,
    });
    expect(ok(books.run({ ...charge(5), usage: { requests: 1 } }))).toMatchObject({
      amount: -5n,
      balanceAfter: 0n,
    });
    expect(books.slice.newTransfers).toMatchObject([
      { usage: { requests: 1 }, holdId: null, reverses: null },
    ]);
    expect(ok(books.run(charge(0))).transferId).toBeNull();
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('leaves what is held alone', () => {
    const books = createTestLedger({ balance: 5n });
    books.run({ do: 'hold', amount: usd(3), demand: 'new' });
    expect(books.run(charge(3))).toMatchObject({ available: 2n });
    expect(books.run(charge(2)).ok).toBe(true);
  });

  it('beyond the balance is borne by the operator where that is asked', () => {
    const books = createTestLedger({ balance: 5n });
    expect(ok(books.run(charge(8, 'shortfall')))).toMatchObject({ amount: -5n, shortfall: 3n });
    expect(books.system({ kind: 'shortfall' }).balance).toBe(-3n);
    expect(books.system({ kind: 'revenue', product: 'rental' }).balance).toBe(8n);
    expect(ok(books.run(charge(2, 'shortfall')))).toMatchObject({ amount: 0n, shortfall: 2n });
  });

  it('as a charge counts against budgets and is refused by them; as an adjustment it is neither', () => {
    const books = createTestLedger({ balance: 100n });
    const { limit, id } = books.addLimit({ left: 10n, onExceeded: 'stop_new_work' });
    expect(books.run(charge(11))).toEqual({
      ok: false,
      reason: 'BUDGET_EXCEEDED',
      available: 10n,
      budgetId: id,
    });
    expect(books.run(charge(101))).toMatchObject({ reason: 'INSUFFICIENT_BALANCE' });
    books.run(charge(6));
    expect(limit.balance).toBe(4n);
    expect(books.slice.notices).toMatchObject([{ thresholdPercent: 50 }]);
    books.run({
      ...charge(20),
      kind: 'adjustment',
      to: [{ account: { kind: 'adjustments' }, amount: usd(20) }],
    });
    expect(limit.balance).toBe(4n);
    expect(ok(books.run(charge(9, 'shortfall')))).toMatchObject({ amount: -4n, shortfall: 5n });
    expect(limit.balance).toBe(0n);
  });

  it('names the key it was for', () => {
    const books = createTestLedger({ balance: 5n });
    const keyId = ids.next('key');
    books.run({ ...charge(1), keyId });
    expect(books.slice.newTransfers).toMatchObject([{ keyId: toUuid(keyId) }]);
  });

  it('as a clawback comes out of paid money first: a payment that is taken back leaves none behind', () => {
    const books = createTestLedger({ balance: 5n });
    const promo = books.addPromo({ balance: 4n, priority: 1 });
    const taken = { do: 'debit', kind: 'clawback', whenShort: 'shortfall', description: 'Refunded' } as const;
    ok(books.run({ ...taken, amount: usd(5), to: clearing(5) }));
    expect([books.wallet.credit.balance, promo.balance]).toEqual([0n, 4n]);
    expect(ok(books.run({ ...taken, amount: usd(6), to: clearing(6) }))).toMatchObject({
      amount: -4n,
      shortfall: 2n,
    });
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('as a payout comes out of what the supplier has earned, not of its credit', () => {
    const books = createTestLedger({ balance: 50n });
    const earned = { ...books.payable, id: ids.nextUuid(), orgId: books.wallet.orgId, balance: 9n };
    books.slice.payables.set(`${books.wallet.orgId}:live`, earned);
    const payout = { ...charge(9), kind: 'payout', to: clearing(9) } as const;
    expect(books.run({ ...payout, amount: usd(10), to: clearing(10) })).toMatchObject({ available: 9n });
    expect(ok(books.run(payout)).amount).toBe(-9n);
    expect([earned.balance, books.wallet.credit.balance]).toEqual([0n, 50n]);
  });
});

describe('a refund', () => {
  const charged = (books: TestLedger, amount: number): TransferId =>
    keep(books, ok(books.run(charge(amount))).transferId);
  const refund = (transferId: TransferId, amount: number) =>
    ({ do: 'refund', transferId, amount: usd(amount), description: 'Sorry' }) as const;

  it('gives back paid money before promotional credit, and never more than was charged', () => {
    const books = createTestLedger({ balance: 10n });
    const promo = books.addPromo({ balance: 3n, priority: 1 });
    const transferId = charged(books, 8);
    expect(ok(books.run(refund(transferId, 6)))).toMatchObject({ amount: 6n, balanceAfter: 11n });
    expect([promo.balance, books.wallet.credit.balance]).toEqual([1n, 10n]);
    expect(books.run(refund(transferId, 3))).toMatchObject({
      reason: 'TRANSFER_NOT_REVERSIBLE',
      available: 2n,
    });
    expect(books.run(refund(transferId, 2)).ok).toBe(true);
    expect(books.run(refund(transferId, 1))).toMatchObject({ available: 0n });
    expect(promo.balance).toBe(3n);
    expect(books.system({ kind: 'revenue', product: 'rental' }).balance).toBe(0n);
    expect(books.slice.newTransfers.at(-1)).toMatchObject({ kind: 'refund', reverses: toUuid(transferId) });
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('takes back from each who was paid, in proportion', () => {
    const books = createTestLedger({ balance: 10n });
    const to = [
      { account: { kind: 'supplier_payable', orgId: books.supplierId }, amount: usd(8) },
      { account: { kind: 'platform_fee' }, amount: usd(2) },
    ] as const;
    const transferId = keep(books, ok(books.run({ ...charge(10), to })).transferId);
    books.payable.balance = 6n;
    // Of 9 the shares are 7.2 and 1.8: 7 and 2 in whole numbers. The supplier has only 6 left, and owes the seventh.
    books.run(refund(transferId, 9));
    expect([books.payable.balance, books.system({ kind: 'platform_fee' }).balance]).toEqual([-1n, 0n]);
    expect(books.system({ kind: 'shortfall' }).balance).toBe(0n);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('does not fill a budget again', () => {
    const books = createTestLedger({ balance: 10n });
    const { limit } = books.addLimit({ left: 10n });
    const transferId = charged(books, 4);
    books.run(refund(transferId, 4));
    expect(limit.balance).toBe(6n);
    expect(books.slice.newEntries.filter((entry) => entry.accountId === limit.id)).toHaveLength(1);
  });

  it('is of a charge of this organisation only, positive, and happens once for its step', () => {
    const books = createTestLedger({ balance: 10n });
    const paid = keep(books, ok(books.run(topUp(5))).transferId);
    expect(books.run(refund(paid, 1))).toMatchObject({ reason: 'TRANSFER_NOT_REVERSIBLE', available: 0n });
    expect(books.run(refund(ids.next('trf'), 1))).toMatchObject({ reason: 'TRANSFER_NOT_FOUND' });
    const transferId = charged(books, 5);
    expect(books.run(refund(transferId, 0))).toMatchObject({ reason: 'TRANSFER_NOT_REVERSIBLE' });
    const first = books.run({ ...refund(transferId, 2), step: 'same' });
    expect(books.run({ ...refund(transferId, 2), step: 'same' })).toEqual({ ...first, replayed: true });
    const source = books.slice.undoable.get(toUuid(transferId));
    Object.assign(source ?? {}, { orgId: 'other' });
    expect(books.run(refund(transferId, 1))).toMatchObject({ reason: 'TRANSFER_NOT_FOUND' });
    Object.assign(source ?? {}, { orgId: books.wallet.orgId, mode: 'test' });
    expect(books.run(refund(transferId, 1))).toMatchObject({ reason: 'TRANSFER_NOT_FOUND' });
  });
});

describe('a reversal', () => {
  const reverse = (transferId: TransferId) =>
    ({ do: 'reverse', transferId, description: 'Mistake' }) as const;

  it('is the exact opposite, once', () => {
    const books = createTestLedger({ balance: 10n });
    const promo = books.addPromo({ balance: 3n, priority: 1 });
    const keyId = ids.next('key');
    const transferId = keep(books, ok(books.run({ ...charge(8), keyId })).transferId);
    expect(ok(books.run({ ...reverse(transferId), step: 'same' }))).toMatchObject({
      amount: 8n,
      balanceAfter: 13n,
    });
    expect([promo.balance, books.wallet.credit.balance]).toEqual([3n, 10n]);
    expect(books.slice.newTransfers.at(-1)).toMatchObject({ kind: 'reversal', keyId: toUuid(keyId) });
    expect(books.run(reverse(transferId))).toMatchObject({ reason: 'TRANSFER_NOT_REVERSIBLE' });
    expect(books.run({ do: 'refund', transferId, amount: usd(1), description: 'x' })).toMatchObject({
      reason: 'TRANSFER_NOT_REVERSIBLE',
    });
    expect(ok(books.run({ ...reverse(transferId), step: 'same' })).replayed).toBe(true);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('of a top-up needs the money to be there still', () => {
    const books = createTestLedger();
    const transferId = keep(books, ok(books.run(topUp(5))).transferId);
    books.run(charge(1));
    expect(books.run(reverse(transferId))).toMatchObject({ reason: 'INSUFFICIENT_BALANCE', available: 4n });
    books.run(topUp(1));
    expect(ok(books.run(reverse(transferId))).amount).toBe(-5n);
    expect(books.system({ kind: 'payments_clearing' }).balance).toBe(-1n);
  });

  it('of a charge takes the share of a supplier back, who owes it if it was paid out', () => {
    const books = createTestLedger({ balance: 10n });
    const to = [
      { account: { kind: 'supplier_payable', orgId: books.supplierId }, amount: usd(8) },
      { account: { kind: 'platform_fee' }, amount: usd(2) },
    ] as const;
    const transferId = keep(books, ok(books.run({ ...charge(10), to })).transferId);
    books.payable.balance = 1n;
    expect(ok(books.run(reverse(transferId))).amount).toBe(10n);
    expect(books.payable).toMatchObject({ balance: -7n, floor: -7n });
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('is refused after a refund, and for what cannot be undone', () => {
    const books = createTestLedger({ balance: 10n });
    const transferId = keep(books, ok(books.run(charge(5))).transferId);
    const refunded = ok(books.run({ do: 'refund', transferId, amount: usd(1), description: 'x' })).transferId;
    expect(books.run(reverse(transferId))).toMatchObject({ reason: 'TRANSFER_NOT_REVERSIBLE' });
    expect(books.run(reverse(keep(books, refunded)))).toMatchObject({ reason: 'TRANSFER_NOT_REVERSIBLE' });
    expect(books.run(reverse(ids.next('trf')))).toMatchObject({ reason: 'TRANSFER_NOT_FOUND' });
  });
});

describe('promotional credit that expires', () => {
  it('is taken from its instant on, as far as nothing holds it, and once for a step', () => {
    const books = createTestLedger();
    const promo = books.addPromo({ balance: 9n, expiresAtMs: startMs + 10 });
    const expire = (step: string) => books.run({ do: 'expire', accountId: fromUuid('lac', promo.id), step });
    books.run({ do: 'hold', amount: usd(4), demand: 'new' });
    expect(ok(expire('early')).transferId).toBeNull();
    Object.assign(books.slice, { nowMs: startMs + 10 });
    expect(ok(expire('now'))).toMatchObject({ amount: -5n, balanceAfter: 4n });
    expect([promo.balance, books.system({ kind: 'grants' }).balance]).toEqual([4n, 5n]);
    expect(ok(expire('now')).replayed).toBe(true);
    expect(ok(expire('again')).transferId).toBeNull();
    expect(ok(books.run({ do: 'expire', accountId: ids.next('lac') })).transferId).toBeNull();
    expect(books.slice.newTransfers).toMatchObject([
      { kind: 'expiry', description: 'Promotional credit expired' },
    ]);
  });
});

describe('the limit of a budget', () => {
  it('is moved against its counterpart, and the organisation’s money is not touched', () => {
    const books = createTestLedger({ balance: 10n });
    const { limit, id } = books.addLimit({ left: 10n });
    expect(ok(books.run({ do: 'limit', budgetId: id, by: usd(5), step: 'same' }))).toMatchObject({
      amount: 0n,
    });
    expect(ok(books.run({ do: 'limit', budgetId: id, by: usd(5), step: 'same' })).replayed).toBe(true);
    expect([limit.balance, books.system({ kind: 'limit_contra' }).balance]).toEqual([15n, -5n]);
    expect(ok(books.run({ do: 'limit', budgetId: id, by: usd(0) })).transferId).toBeNull();
    expect(books.run({ do: 'limit', budgetId: ids.next('bdg'), by: usd(1) })).toMatchObject({
      reason: 'BUDGET_NOT_FOUND',
    });
  });

  it('gives back the rest, which is that of the new period when the old one is over', () => {
    const books = createTestLedger({ balance: 100n });
    const { limit, id } = books.addLimit({ left: 4n, limit: 10n, held: 3n, periodEndMs: startMs });
    expect(books.run({ do: 'limit', budgetId: id, by: 'rest' }).ok).toBe(true);
    expect([limit.balance, limit.held]).toEqual([3n, 3n]);
    expect(books.slice.newTransfers).toHaveLength(2);
  });

  it('lowered below what is spent has its floor there, until it is raised again', () => {
    const books = createTestLedger({ balance: 100n });
    const { limit, id } = books.addLimit({ left: 10n, limit: 10n });
    books.run({ do: 'hold', amount: usd(8), demand: 'new' });
    books.run({ do: 'limit', budgetId: id, by: usd(-5) });
    expect([limit.balance, limit.held, limit.floor]).toEqual([5n, 8n, -3n]);
    expect(books.run({ do: 'hold', amount: usd(1), demand: 'running' })).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
    });
    books.run({ do: 'limit', budgetId: id, by: usd(3) });
    expect(limit.floor).toBe(0n);
    const told = books.addLimit({ left: 10n, onExceeded: 'notify' });
    books.run({ do: 'limit', budgetId: told.id, by: usd(-50) });
    expect([told.limit.balance, told.limit.floor]).toEqual([-40n, null]);
    expect(findInconsistencies(books)).toEqual([]);
  });
});

describe('in one batch', () => {
  it('a reversal is seen by what comes after it, and budgets stay out of it', () => {
    const books = createTestLedger({ balance: 10n });
    const { limit } = books.addLimit({ left: 10n, limit: 10n, onExceeded: 'notify' });
    const transferId = keep(books, ok(books.run(charge(4))).transferId);
    expect(books.run({ do: 'reverse', transferId, description: 'Mistake' }).ok).toBe(true);
    expect([limit.balance, books.wallet.credit.balance]).toEqual([6n, 10n]);
    expect(books.slice.undoable.get(toUuid(transferId))).toMatchObject({ reversed: true });
    expect(books.slice.undoable.get(toUuid(transferId))?.undone.get(books.wallet.credit.id)).toBe(4n);
    expect(findInconsistencies(books)).toEqual([]);
  });
});
