import { createIdSource, toUuid } from '@millrace/platform/ids';
import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, it } from 'vitest';
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

function holdOf(books: TestLedger, amount: number, step?: string) {
  const { holdId } = ok(
    books.run({ do: 'hold', amount: usd(amount), demand: 'new', ...(step ? { step } : {}) }),
  );
  if (holdId === null) throw new Error('no hold');
  return holdId;
}

const post = (
  holdId: LedgerSuccess['holdId'],
  amount: number,
  afterwards: 'keep' | 'close' | { target: ReturnType<typeof usd> },
) => {
  if (holdId === null) throw new Error('no hold');
  return {
    do: 'post',
    holdId,
    amount: usd(amount),
    to: revenue(amount),
    afterwards,
    description: 'Use',
  } as const;
};

const money = ({ wallet }: TestLedger) => [wallet.credit.balance, wallet.credit.held];

describe('what only paid money pays for', () => {
  const supplied = { of: 'paid' } as const;

  it('is refused where there is promotional credit alone, and takes none where there is both', () => {
    const books = createTestLedger({ balance: 5n });
    const promo = books.addPromo({ balance: 100n, priority: 1 });
    expect(books.run({ do: 'hold', ...supplied, amount: usd(6), demand: 'new' })).toMatchObject({
      reason: 'INSUFFICIENT_BALANCE',
      available: 5n,
    });
    ok(books.run({ do: 'hold', ...supplied, amount: usd(5), demand: 'new' }));
    expect([promo.held, books.wallet.credit.held]).toEqual([0n, 5n]);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('takes none when it grows, when it is renewed or when it goes beyond what was held', () => {
    const books = createTestLedger({ balance: 10n });
    const promo = books.addPromo({ balance: 100n, priority: 1 });
    const { holdId } = ok(books.run({ do: 'hold', ...supplied, amount: usd(2), demand: 'new' }));
    if (holdId === null) throw new Error('no hold');
    const grown = {
      do: 'resize',
      ...supplied,
      holdId,
      target: usd(50),
      atLeast: usd(0),
      demand: 'running',
    } as const;
    expect(ok(books.run(grown)).held).toBe(10n);
    ok(books.run({ ...grown, target: usd(1), step: 'less' }));
    const renewed = { ...post(holdId, 4, { target: usd(50) }), ...supplied, step: 'renewed' };
    expect(ok(books.run(renewed))).toMatchObject({ amount: -4n, held: 6n, shortfall: 0n });
    const beyond = { ...post(holdId, 9, 'close'), ...supplied, step: 'beyond' };
    expect(ok(books.run(beyond))).toMatchObject({ amount: -6n, shortfall: 3n });
    expect([promo.balance, promo.held, books.wallet.credit.balance]).toEqual([100n, 0n, 0n]);
    expect(findInconsistencies(books)).toEqual([]);
  });
});

describe('taking a hold', () => {
  it('sets aside to the last nano-USD and refuses one more', () => {
    const books = createTestLedger({ balance: 10n });
    expect(ok(books.run({ do: 'hold', amount: usd(10), demand: 'new' }))).toMatchObject({
      replayed: false,
      transferId: null,
      amount: 0n,
      held: 10n,
      balanceAfter: 10n,
    });
    expect(books.run({ do: 'hold', amount: usd(1), demand: 'new' })).toEqual({
      ok: false,
      reason: 'INSUFFICIENT_BALANCE',
      available: 0n,
      budgetId: null,
    });
    expect(money(books)).toEqual([10n, 10n]);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('may take less when that is said, but not less than the least', () => {
    const books = createTestLedger({ balance: 10n });
    expect(books.run({ do: 'hold', amount: usd(30), atLeast: usd(11), demand: 'new' }).ok).toBe(false);
    expect(ok(books.run({ do: 'hold', amount: usd(30), atLeast: usd(10), demand: 'new' })).held).toBe(10n);
  });

  it('happens once for a cause and step', () => {
    const books = createTestLedger({ balance: 10n });
    const first = books.run({ do: 'hold', amount: usd(4), demand: 'new', step: 'same' });
    const again = books.run({ do: 'hold', amount: usd(4), demand: 'new', step: 'same' });
    expect(again).toEqual({ ...first, replayed: true });
    expect(money(books)).toEqual([10n, 4n]);
  });

  it('of nothing succeeds with nothing: what is free is held like everything else', () => {
    const books = createTestLedger();
    expect(ok(books.run({ do: 'hold', amount: usd(0), demand: 'new' })).held).toBe(0n);
  });

  it('is refused to new work on a frozen account, and granted to running work', () => {
    const books = createTestLedger({ balance: 10n, frozen: true });
    expect(books.run({ do: 'hold', amount: usd(1), demand: 'new' })).toMatchObject({
      reason: 'ACCOUNT_FROZEN',
    });
    expect(books.run({ do: 'hold', amount: usd(1), demand: 'running' }).ok).toBe(true);
  });

  it('uses an allowed overdraft', () => {
    const books = createTestLedger({ balance: 2n, floor: -3n });
    expect(books.run({ do: 'hold', amount: usd(6), demand: 'new' }).ok).toBe(false);
    expect(books.run({ do: 'hold', amount: usd(5), demand: 'new' }).ok).toBe(true);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('takes promotional credit first and skips what has expired', () => {
    const books = createTestLedger({ balance: 10n });
    const gone = books.addPromo({ balance: 5n, priority: 1, expiresAtMs: startMs });
    const soon = books.addPromo({ balance: 3n, priority: 50, expiresAtMs: startMs + 1 });
    holdOf(books, 8);
    expect([gone.held, soon.held, books.wallet.credit.held]).toEqual([0n, 3n, 5n]);
  });
});

describe('a budget and holds', () => {
  it('holds the same amount in every budget that can refuse, and names the one that does', () => {
    const books = createTestLedger({ balance: 100n });
    const wide = books.addLimit({ left: 50n });
    const tight = books.addLimit({ left: 20n, onExceeded: 'stop_new_work' });
    const told = books.addLimit({ left: 5n, onExceeded: 'notify' });
    holdOf(books, 15);
    expect([wide, tight, told].map(({ limit }) => limit.held)).toEqual([15n, 15n, 0n]);
    expect(books.run({ do: 'hold', amount: usd(6), demand: 'new' })).toEqual({
      ok: false,
      reason: 'BUDGET_EXCEEDED',
      available: 5n,
      budgetId: tight.id,
    });
    expect(ok(books.run({ do: 'hold', amount: usd(6), atLeast: usd(5), demand: 'new' })).held).toBe(5n);
    expect(books.run({ do: 'hold', amount: usd(6), demand: 'running' }).ok).toBe(true);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('of one key does not count the work of another, nor of none', () => {
    const books = createTestLedger({ balance: 100n });
    const [mine, other] = [ids.next('key'), ids.next('key')];

    books.addLimit({ left: 5n, keyIds: [toUuid(mine)] });
    expect(books.run({ do: 'hold', amount: usd(6), demand: 'new', keyId: mine })).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
    });
    expect(books.run({ do: 'hold', amount: usd(6), demand: 'new', keyId: other }).ok).toBe(true);
    expect(books.run({ do: 'hold', amount: usd(6), demand: 'new' }).ok).toBe(true);
  });

  it('can be held by itself, for a pot, without touching the balance', () => {
    const books = createTestLedger({ balance: 1n });
    const { limit, id } = books.addLimit({ left: 20n });
    const first = ok(books.run({ do: 'hold', amount: usd(12), demand: 'new', onlyBudgets: [id] }));
    expect([books.wallet.credit.held, limit.held]).toEqual([0n, 12n]);
    expect(books.run({ do: 'hold', amount: usd(9), demand: 'new', onlyBudgets: [id] }).ok).toBe(false);
    expect(
      books.run({ do: 'hold', amount: usd(1), demand: 'new', onlyBudgets: [ids.next('bdg')] }),
    ).toMatchObject({
      reason: 'BUDGET_NOT_FOUND',
    });
    if (first.holdId === null) throw new Error('no hold');
    books.run({ do: 'resize', holdId: first.holdId, target: usd(15), demand: 'new' });
    expect([books.wallet.credit.held, limit.held]).toEqual([0n, 15n]);
    books.run({ do: 'resize', holdId: first.holdId, target: usd(2), demand: 'new' });
    expect(limit.held).toBe(2n);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('begins anew with the next period, except for what running work holds', () => {
    const books = createTestLedger({ balance: 100n });
    const { limit, id } = books.addLimit({
      left: 4n,
      limit: 10n,
      held: 3n,
      periodEndMs: startMs,
      notifiedPercent: 75,
    });
    expect(books.run({ do: 'hold', amount: usd(7), demand: 'new' }).ok).toBe(true);
    expect(limit).toMatchObject({ balance: 10n, held: 10n, entryCount: 1n });
    expect(limit.budget).toMatchObject({
      periodStartMs: Date.UTC(2026, 5, 10),
      periodEndMs: Date.UTC(2026, 5, 11),
      notifiedPercent: 0,
      changed: true,
    });
    expect(books.slice.newTransfers).toMatchObject([
      {
        kind: 'budget',
        amount: 0n,
        causeKind: 'budget',
        causeId: id,
        key: `budget:${id}:period:${Date.UTC(2026, 5, 10)}`,
      },
    ]);
    expect(books.system({ kind: 'limit_contra' }).balance).toBe(-6n);
  });

  it('stays as it is before its period ends, and for ever when it has no end', () => {
    const books = createTestLedger({ balance: 100n });
    const running = books.addLimit({ left: 4n, limit: 10n, periodEndMs: startMs + 1 }).limit;
    const total = books.addLimit({ left: 4n, limit: 10n, period: 'total', periodEndMs: null }).limit;
    holdOf(books, 1);
    expect([running.balance, total.balance]).toEqual([4n, 4n]);
  });
});

describe('resizing a hold', () => {
  it('goes to the amount named, up or down, and is the same done twice', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 4);
    for (const target of [7, 7, 2, 2, 0, 10]) {
      expect(ok(books.run({ do: 'resize', holdId, target: usd(target), demand: 'new' })).held).toBe(
        BigInt(target),
      );
      expect(money(books)).toEqual([10n, BigInt(target)]);
    }
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('refuses more than there is, unless less will do', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 4);
    expect(books.run({ do: 'resize', holdId, target: usd(11), demand: 'new' })).toMatchObject({
      reason: 'INSUFFICIENT_BALANCE',
      available: 6n,
    });
    expect(books.run({ do: 'resize', holdId, target: usd(20), atLeast: usd(11), demand: 'new' }).ok).toBe(
      false,
    );
    expect(
      ok(books.run({ do: 'resize', holdId, target: usd(20), atLeast: usd(10), demand: 'new' })).held,
    ).toBe(10n);
    expect(
      ok(books.run({ do: 'resize', holdId, target: usd(20), atLeast: usd(3), demand: 'new' })).held,
    ).toBe(10n);
  });

  it('gives back last what is spent first', () => {
    const books = createTestLedger({ balance: 10n });
    const promo = books.addPromo({ balance: 3n, priority: 1 });
    const holdId = holdOf(books, 8);
    books.run({ do: 'resize', holdId, target: usd(4), demand: 'new' });
    expect([promo.held, books.wallet.credit.held]).toEqual([3n, 1n]);
  });

  it('of a frozen account shrinks, and grows for running work only', () => {
    const books = createTestLedger({ balance: 10n, frozen: true });
    const { holdId } = ok(books.run({ do: 'hold', amount: usd(4), demand: 'running' }));
    if (holdId === null) throw new Error('no hold');
    expect(books.run({ do: 'resize', holdId, target: usd(5), demand: 'new' })).toMatchObject({
      reason: 'ACCOUNT_FROZEN',
    });
    expect(books.run({ do: 'resize', holdId, target: usd(4), demand: 'new' }).ok).toBe(true);
    expect(books.run({ do: 'resize', holdId, target: usd(5), demand: 'running' }).ok).toBe(true);
  });

  it('refuses a hold that is closed, absent, of another organisation or of the other mode', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 4);
    books.run({ do: 'close', holdId });
    expect(books.run({ do: 'resize', holdId, target: usd(1), demand: 'new' })).toMatchObject({
      reason: 'HOLD_CLOSED',
    });
    expect(books.run({ do: 'resize', holdId: ids.next('hld'), target: usd(1), demand: 'new' })).toMatchObject(
      {
        reason: 'HOLD_NOT_FOUND',
      },
    );
    const mine = holdOf(books, 1);
    const hold = [...books.slice.holds.values()].at(-1);
    Object.assign(hold ?? {}, { orgId: 'other' });
    expect(books.run({ do: 'close', holdId: mine })).toMatchObject({ reason: 'HOLD_NOT_FOUND' });
    Object.assign(hold ?? {}, { orgId: books.wallet.orgId, mode: 'test' });
    expect(books.run(post(mine, 1, 'keep'))).toMatchObject({ reason: 'HOLD_NOT_FOUND' });
  });
});

describe('posting from a hold', () => {
  it('charges the hold, pays the shares and keeps the rest set aside', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 6);
    const result = ok(books.run({ ...post(holdId, 2, 'keep'), usage: { gpuMs: 5 } }));
    expect(result).toMatchObject({ amount: -2n, held: 4n, shortfall: 0n, balanceAfter: 8n, replayed: false });
    expect(money(books)).toEqual([8n, 4n]);
    expect(books.system({ kind: 'revenue', product: 'rental' }).balance).toBe(2n);
    expect(books.slice.newTransfers).toMatchObject([
      {
        kind: 'charge',
        amount: -2n,
        causeKind: 'test',
        causeId: 'thing',
        description: 'Use',
        usage: { gpuMs: 5 },
      },
    ]);
    expect([...books.slice.holds.values()]).toMatchObject([{ posted: 2n, held: 4n }]);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('happens once for a cause and step, also when the hold is closed since', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 6);
    const first = books.run({ ...post(holdId, 2, 'close'), step: 'same' });
    const again = books.run({ ...post(holdId, 2, 'close'), step: 'same' });
    expect(again).toEqual({ ...first, replayed: true });
    expect(money(books)).toEqual([8n, 0n]);
    expect(books.run({ ...post(holdId, 2, 'close') })).toMatchObject({ reason: 'HOLD_CLOSED' });
  });

  it('can bring the hold to an amount for what comes next, as far as the money reaches', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 3);
    expect(ok(books.run(post(holdId, 2, { target: usd(5) }))).held).toBe(5n);
    expect(ok(books.run(post(holdId, 2, { target: usd(50) }))).held).toBe(6n);
    expect(ok(books.run(post(holdId, 2, { target: usd(1) }))).held).toBe(1n);
    expect(money(books)).toEqual([4n, 1n]);
  });

  it('of nothing moves no money, and still does what comes afterwards', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 3);
    expect(ok(books.run(post(holdId, 0, 'close')))).toMatchObject({ transferId: null, held: 0n });
    expect(books.slice.newTransfers).toEqual([]);
    expect(money(books)).toEqual([10n, 0n]);
  });

  it('takes from the balance what the hold lacks, and from the operator what the balance lacks', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 3);
    expect(ok(books.run(post(holdId, 5, 'keep')))).toMatchObject({ amount: -5n, held: 0n, shortfall: 0n });
    expect(money(books)).toEqual([5n, 0n]);
    expect(ok(books.run(post(holdId, 9, 'close')))).toMatchObject({
      amount: -5n,
      shortfall: 4n,
      balanceAfter: 0n,
    });
    expect(books.system({ kind: 'shortfall' }).balance).toBe(-4n);
    expect(books.system({ kind: 'revenue', product: 'rental' }).balance).toBe(14n);
    expect([...books.slice.holds.values()]).toMatchObject([{ posted: 10n }]);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('leaves the balance alone where the operator answers for what the hold lacks', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 3);
    const result = ok(books.run({ ...post(holdId, 5, 'keep'), beyondHold: 'operator' }));
    expect(result).toMatchObject({ amount: -3n, held: 0n, shortfall: 2n, balanceAfter: 7n });
    expect(money(books)).toEqual([7n, 0n]);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('spends the promotional part of the hold first, also after its expiry', () => {
    const books = createTestLedger({ balance: 10n });
    const promo = books.addPromo({ balance: 3n, priority: 1, expiresAtMs: startMs + 1 });
    const holdId = holdOf(books, 8);
    Object.assign(books.slice, { nowMs: startMs + 5 });
    books.run(post(holdId, 2, 'keep'));
    expect([promo.balance, promo.held]).toEqual([1n, 1n]);
    books.run(post(holdId, 2, 'keep'));
    expect([promo.balance, books.wallet.credit.balance, books.wallet.credit.held]).toEqual([0n, 9n, 4n]);
  });

  it('counts against the budgets of the key that the hold was taken for, or that is named', () => {
    const books = createTestLedger({ balance: 100n });
    const [first, second] = [ids.next('key'), ids.next('key')];
    const a = books.addLimit({ left: 50n, keyIds: [toUuid(first)] }).limit;
    const b = books.addLimit({ left: 50n, keyIds: [toUuid(second)] }).limit;
    const { holdId } = ok(books.run({ do: 'hold', amount: usd(10), demand: 'new', keyId: first }));
    books.run(post(holdId, 4, 'keep'));
    expect([a.balance, a.held, b.balance]).toEqual([46n, 6n, 50n]);
    books.run({ ...post(holdId, 3, 'keep'), keyId: second });
    expect([a.balance, a.held, b.balance]).toEqual([46n, 3n, 47n]);
    expect(books.slice.newTransfers.map((transfer) => transfer.keyId)).toEqual([first, second].map(toUuid));
    expect(books.system({ kind: 'limit_contra' }).balance).toBe(7n);
  });

  it('beyond the hold stops at a budget that stops everything: the operator bears the rest', () => {
    const books = createTestLedger({ balance: 100n });
    const { limit } = books.addLimit({ left: 10n });
    const holdId = holdOf(books, 8);
    expect(ok(books.run(post(holdId, 20, 'keep')))).toMatchObject({ amount: -10n, shortfall: 10n });
    expect([limit.balance, limit.held]).toEqual([0n, 0n]);
    expect(findInconsistencies(books)).toEqual([]);
  });

  it('counts only what fits when the budget was made after the hold', () => {
    const books = createTestLedger({ balance: 100n });
    const holdId = holdOf(books, 30);
    const { limit } = books.addLimit({ left: 10n });
    expect(ok(books.run(post(holdId, 30, 'keep')))).toMatchObject({ amount: -30n, shortfall: 0n });
    expect(limit.balance).toBe(0n);
    const told = books.addLimit({ left: 10n, onExceeded: 'notify' }).limit;
    books.run({ do: 'close', holdId });
    Object.assign(limit, { budget: null });
    const more = ok(books.run({ do: 'hold', amount: usd(30), demand: 'running' }));
    books.run(post(more.holdId, 30, 'keep'));
    expect(told.balance).toBe(-20n);
  });

  it('announces each threshold once in a period, and the end of the budget', () => {
    const books = createTestLedger({ balance: 1_000n });
    books.addLimit({ left: 100n, thresholdsPercent: [50, 75], onExceeded: 'notify' });
    const holdId = holdOf(books, 200);
    const told = () => books.slice.notices.map((notice) => notice.thresholdPercent);
    books.run(post(holdId, 49, 'keep'));
    expect(told()).toEqual([]);
    books.run(post(holdId, 1, 'keep'));
    expect(told()).toEqual([50]);
    books.run(post(holdId, 10, 'keep'));
    expect(told()).toEqual([50]);
    books.run(post(holdId, 60, 'keep'));
    expect(told()).toEqual([50, 75, 100]);
    books.run(post(holdId, 10, 'keep'));
    expect(told()).toEqual([50, 75, 100]);
  });

  it('pays a supplier and the fee by their shares, which must add up', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 10);
    const to = [
      { account: { kind: 'supplier_payable', orgId: books.supplierId }, amount: usd(8) },
      { account: { kind: 'platform_fee' }, amount: usd(2) },
    ] as const;
    books.run({ ...post(holdId, 10, 'close'), to });
    expect([books.payable.balance, books.system({ kind: 'platform_fee' }).balance]).toEqual([8n, 2n]);
    const more = createTestLedger({ balance: 10n });
    const another = holdOf(more, 10);
    expect(() => more.run({ ...post(another, 9, 'close'), to: revenue(8) })).toThrow('add up');
    expect(() =>
      more.run({ ...post(another, 9, 'close'), to: [...revenue(10), ...revenue(-1, 'volume')] }),
    ).toThrow('add up');
  });
});

describe('closing a hold', () => {
  it('gives back the rest once, and answers the same again', () => {
    const books = createTestLedger({ balance: 10n });
    const { limit } = books.addLimit({ left: 50n });
    const holdId = holdOf(books, 6);
    expect(ok(books.run({ do: 'close', holdId }))).toMatchObject({ held: 0n, replayed: false });
    expect([...money(books), limit.held]).toEqual([10n, 0n, 0n]);
    expect(ok(books.run({ do: 'close', holdId }))).toMatchObject({ held: 0n, replayed: true });
    expect([...books.slice.holds.values()]).toMatchObject([{ closedAtMs: startMs, touched: true }]);
    expect(books.run({ do: 'close', holdId: ids.next('hld') })).toMatchObject({ reason: 'HOLD_NOT_FOUND' });
  });
});

describe('what the store has to write', () => {
  const settle = (books: TestLedger): void => {
    for (const each of books.slice.accounts.values()) each.touched = false;
    for (const hold of books.slice.holds.values()) hold.touched = false;
  };
  const touched = (books: TestLedger): readonly string[] => [
    ...[...books.slice.accounts.values()].filter((each) => each.touched).map((each) => each.kind),
    ...[...books.slice.holds.values()].filter((hold) => hold.touched).map(() => 'hold'),
  ];

  it('is exactly what changed', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 6);
    expect(touched(books)).toEqual(['credit', 'hold']);
    expect([...books.slice.holds.values()]).toMatchObject([{ isNew: true }]);
    const acts = [
      { do: 'resize', holdId, target: usd(7), demand: 'new' },
      { do: 'resize', holdId, target: usd(5), demand: 'new' },
      { do: 'close', holdId },
    ] as const;
    for (const act of acts) {
      settle(books);
      books.run(act);
      expect(touched(books)).toEqual(['credit', 'hold']);
    }
    settle(books);
    books.run({ do: 'close', holdId });
    expect(touched(books)).toEqual([]);
    const empty = holdOf(books, 0);
    settle(books);
    books.run({ do: 'close', holdId: empty });
    expect(touched(books)).toEqual(['hold']);
  });
});

describe('a charge of nothing', () => {
  it('that closed its hold is answered alike again; one that would have kept it is refused', () => {
    const books = createTestLedger({ balance: 10n });
    const holdId = holdOf(books, 3);
    books.run(post(holdId, 0, 'close'));
    expect(ok(books.run(post(holdId, 0, 'close')))).toMatchObject({ replayed: true, holdId, held: 0n });
    expect(books.run(post(holdId, 0, 'keep'))).toMatchObject({ reason: 'HOLD_CLOSED' });
    expect(books.run(post(ids.next('hld'), 0, 'close'))).toMatchObject({ reason: 'HOLD_NOT_FOUND' });
  });
});

describe('a hold of budgets alone', () => {
  it('touches those it names, and no other budget of the organisation', () => {
    const books = createTestLedger({ balance: 50n });
    const named = books.addLimit({ left: 20n });
    const other = books.addLimit({ left: 20n });
    const { holdId } = ok(books.run({ do: 'hold', amount: usd(0), demand: 'new', onlyBudgets: [named.id] }));
    if (holdId === null) throw new Error('no hold');
    books.run({ do: 'resize', holdId, target: usd(8), demand: 'new' });
    expect([named.limit.held, other.limit.held, books.wallet.credit.held]).toEqual([8n, 0n, 0n]);
    expect(books.run({ do: 'resize', holdId, target: usd(21), demand: 'new' })).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
    });
    const plain = holdOf(books, 0);
    books.run({ do: 'resize', holdId: plain, target: usd(2), demand: 'new' });
    expect([named.limit.held, other.limit.held, books.wallet.credit.held]).toEqual([10n, 2n, 2n]);
  });
});
