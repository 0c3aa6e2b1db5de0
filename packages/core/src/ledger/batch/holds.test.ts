import { createIdSource, toUuid } from '@millrace/platform/ids';
import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, it } from 'vitest';
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

function holdOf(ledger: TestLedger, amount: number, step?: string) {
  const { holdId } = ok(
    ledger.run({ do: 'hold', amount: usd(amount), demand: 'new', ...(step ? { step } : {}) }),
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
    const ledger = createTestLedger({ balance: 5n });
    const promo = ledger.addPromo({ balance: 100n, priority: 1 });
    expect(ledger.run({ do: 'hold', ...supplied, amount: usd(6), demand: 'new' })).toMatchObject({
      reason: 'INSUFFICIENT_BALANCE',
      available: 5n,
    });
    ok(ledger.run({ do: 'hold', ...supplied, amount: usd(5), demand: 'new' }));
    expect([promo.held, ledger.wallet.credit.held]).toEqual([0n, 5n]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('takes none when it grows, when it is renewed or when it goes beyond what was held', () => {
    const ledger = createTestLedger({ balance: 10n });
    const promo = ledger.addPromo({ balance: 100n, priority: 1 });
    const { holdId } = ok(ledger.run({ do: 'hold', ...supplied, amount: usd(2), demand: 'new' }));
    if (holdId === null) throw new Error('no hold');
    const grown = {
      do: 'resize',
      ...supplied,
      holdId,
      target: usd(50),
      atLeast: usd(0),
      demand: 'running',
    } as const;
    expect(ok(ledger.run(grown)).held).toBe(10n);
    ok(ledger.run({ ...grown, target: usd(1), step: 'less' }));
    const renewed = { ...post(holdId, 4, { target: usd(50) }), ...supplied, step: 'renewed' };
    expect(ok(ledger.run(renewed))).toMatchObject({ amount: -4n, held: 6n, shortfall: 0n });
    const beyond = { ...post(holdId, 9, 'close'), ...supplied, step: 'beyond' };
    expect(ok(ledger.run(beyond))).toMatchObject({ amount: -6n, shortfall: 3n });
    expect([promo.balance, promo.held, ledger.wallet.credit.balance]).toEqual([100n, 0n, 0n]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });
});

describe('taking a hold', () => {
  it('sets aside to the last nano-USD and refuses one more', () => {
    const ledger = createTestLedger({ balance: 10n });
    expect(ok(ledger.run({ do: 'hold', amount: usd(10), demand: 'new' }))).toMatchObject({
      replayed: false,
      transferId: null,
      amount: 0n,
      held: 10n,
      balanceAfter: 10n,
    });
    expect(ledger.run({ do: 'hold', amount: usd(1), demand: 'new' })).toEqual({
      ok: false,
      reason: 'INSUFFICIENT_BALANCE',
      available: 0n,
      budgetId: null,
    });
    expect(money(ledger)).toEqual([10n, 10n]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('may take less when that is said, but not less than the least', () => {
    const ledger = createTestLedger({ balance: 10n });
    expect(ledger.run({ do: 'hold', amount: usd(30), atLeast: usd(11), demand: 'new' }).ok).toBe(false);
    expect(ok(ledger.run({ do: 'hold', amount: usd(30), atLeast: usd(10), demand: 'new' })).held).toBe(10n);
  });

  it('happens once for a cause and step', () => {
    const ledger = createTestLedger({ balance: 10n });
    const first = ledger.run({ do: 'hold', amount: usd(4), demand: 'new', step: 'same' });
    const again = ledger.run({ do: 'hold', amount: usd(4), demand: 'new', step: 'same' });
    expect(again).toEqual({ ...first, replayed: true });
    expect(money(ledger)).toEqual([10n, 4n]);
  });

  it('of nothing succeeds with nothing: what is free is held like everything else', () => {
    const ledger = createTestLedger();
    expect(ok(ledger.run({ do: 'hold', amount: usd(0), demand: 'new' })).held).toBe(0n);
  });

  it('is refused to new work on a frozen account, and granted to running work', () => {
    const ledger = createTestLedger({ balance: 10n, frozen: true });
    expect(ledger.run({ do: 'hold', amount: usd(1), demand: 'new' })).toMatchObject({
      reason: 'ACCOUNT_FROZEN',
    });
    expect(ledger.run({ do: 'hold', amount: usd(1), demand: 'running' }).ok).toBe(true);
  });

  it('uses an allowed overdraft', () => {
    const ledger = createTestLedger({ balance: 2n, floor: -3n });
    expect(ledger.run({ do: 'hold', amount: usd(6), demand: 'new' }).ok).toBe(false);
    expect(ledger.run({ do: 'hold', amount: usd(5), demand: 'new' }).ok).toBe(true);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('takes promotional credit first and skips what has expired', () => {
    const ledger = createTestLedger({ balance: 10n });
    const expired = ledger.addPromo({ balance: 5n, priority: 1, expiresAtMs: startMs });
    const soon = ledger.addPromo({ balance: 3n, priority: 50, expiresAtMs: startMs + 1 });
    holdOf(ledger, 8);
    expect([expired.held, soon.held, ledger.wallet.credit.held]).toEqual([0n, 3n, 5n]);
  });
});

describe('a budget and holds', () => {
  it('holds the same amount in every budget that can refuse, and names the one that does', () => {
    const ledger = createTestLedger({ balance: 100n });
    const wide = ledger.addLimit({ left: 50n });
    const tight = ledger.addLimit({ left: 20n, onExceeded: 'stop_new_work' });
    const notifying = ledger.addLimit({ left: 5n, onExceeded: 'notify' });
    holdOf(ledger, 15);
    expect([wide, tight, notifying].map(({ limit }) => limit.held)).toEqual([15n, 15n, 0n]);
    expect(ledger.run({ do: 'hold', amount: usd(6), demand: 'new' })).toEqual({
      ok: false,
      reason: 'BUDGET_EXCEEDED',
      available: 5n,
      budgetId: tight.id,
    });
    expect(ok(ledger.run({ do: 'hold', amount: usd(6), atLeast: usd(5), demand: 'new' })).held).toBe(5n);
    expect(ledger.run({ do: 'hold', amount: usd(6), demand: 'running' }).ok).toBe(true);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('of one key does not count the work of another, nor of none', () => {
    const ledger = createTestLedger({ balance: 100n });
    const [mine, other] = [ids.next('key'), ids.next('key')];

    ledger.addLimit({ left: 5n, keyIds: [toUuid(mine)] });
    expect(ledger.run({ do: 'hold', amount: usd(6), demand: 'new', keyId: mine })).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
    });
    expect(ledger.run({ do: 'hold', amount: usd(6), demand: 'new', keyId: other }).ok).toBe(true);
    expect(ledger.run({ do: 'hold', amount: usd(6), demand: 'new' }).ok).toBe(true);
  });

  it('can be held by itself, for a pot, without touching the balance', () => {
    const ledger = createTestLedger({ balance: 1n });
    const { limit, id } = ledger.addLimit({ left: 20n });
    const first = ok(ledger.run({ do: 'hold', amount: usd(12), demand: 'new', onlyBudgets: [id] }));
    expect([ledger.wallet.credit.held, limit.held]).toEqual([0n, 12n]);
    expect(ledger.run({ do: 'hold', amount: usd(9), demand: 'new', onlyBudgets: [id] }).ok).toBe(false);
    expect(
      ledger.run({ do: 'hold', amount: usd(1), demand: 'new', onlyBudgets: [ids.next('bdg')] }),
    ).toMatchObject({
      reason: 'BUDGET_NOT_FOUND',
    });
    if (first.holdId === null) throw new Error('no hold');
    ledger.run({ do: 'resize', holdId: first.holdId, target: usd(15), demand: 'new' });
    expect([ledger.wallet.credit.held, limit.held]).toEqual([0n, 15n]);
    ledger.run({ do: 'resize', holdId: first.holdId, target: usd(2), demand: 'new' });
    expect(limit.held).toBe(2n);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('begins anew with the next period, except for what running work holds', () => {
    const ledger = createTestLedger({ balance: 100n });
    const { limit, id } = ledger.addLimit({
      left: 4n,
      limit: 10n,
      held: 3n,
      periodEndMs: startMs,
      notifiedPercent: 75,
    });
    expect(ledger.run({ do: 'hold', amount: usd(7), demand: 'new' }).ok).toBe(true);
    expect(limit).toMatchObject({ balance: 10n, held: 10n, entryCount: 1n });
    expect(limit.budget).toMatchObject({
      periodStartMs: Date.UTC(2026, 5, 10),
      periodEndMs: Date.UTC(2026, 5, 11),
      notifiedPercent: 0,
      changed: true,
    });
    expect(ledger.slice.newTransfers).toMatchObject([
      {
        kind: 'budget',
        amount: 0n,
        causeKind: 'budget',
        causeId: id,
        key: `budget:${id}:period:${Date.UTC(2026, 5, 10)}`,
      },
    ]);
    expect(ledger.system({ kind: 'limit_contra' }).balance).toBe(-6n);
  });

  it('stays as it is before its period ends, and for ever when it has no end', () => {
    const ledger = createTestLedger({ balance: 100n });
    const running = ledger.addLimit({ left: 4n, limit: 10n, periodEndMs: startMs + 1 }).limit;
    const total = ledger.addLimit({ left: 4n, limit: 10n, period: 'total', periodEndMs: null }).limit;
    holdOf(ledger, 1);
    expect([running.balance, total.balance]).toEqual([4n, 4n]);
  });
});

describe('resizing a hold', () => {
  it('goes to the amount named, up or down, and is the same done twice', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 4);
    for (const target of [7, 7, 2, 2, 0, 10]) {
      expect(ok(ledger.run({ do: 'resize', holdId, target: usd(target), demand: 'new' })).held).toBe(
        BigInt(target),
      );
      expect(money(ledger)).toEqual([10n, BigInt(target)]);
    }
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('refuses more than there is, unless less will do', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 4);
    expect(ledger.run({ do: 'resize', holdId, target: usd(11), demand: 'new' })).toMatchObject({
      reason: 'INSUFFICIENT_BALANCE',
      available: 6n,
    });
    expect(ledger.run({ do: 'resize', holdId, target: usd(20), atLeast: usd(11), demand: 'new' }).ok).toBe(
      false,
    );
    expect(
      ok(ledger.run({ do: 'resize', holdId, target: usd(20), atLeast: usd(10), demand: 'new' })).held,
    ).toBe(10n);
    expect(
      ok(ledger.run({ do: 'resize', holdId, target: usd(20), atLeast: usd(3), demand: 'new' })).held,
    ).toBe(10n);
  });

  it('gives back last what is spent first', () => {
    const ledger = createTestLedger({ balance: 10n });
    const promo = ledger.addPromo({ balance: 3n, priority: 1 });
    const holdId = holdOf(ledger, 8);
    ledger.run({ do: 'resize', holdId, target: usd(4), demand: 'new' });
    expect([promo.held, ledger.wallet.credit.held]).toEqual([3n, 1n]);
  });

  it('of a frozen account shrinks, and grows for running work only', () => {
    const ledger = createTestLedger({ balance: 10n, frozen: true });
    const { holdId } = ok(ledger.run({ do: 'hold', amount: usd(4), demand: 'running' }));
    if (holdId === null) throw new Error('no hold');
    expect(ledger.run({ do: 'resize', holdId, target: usd(5), demand: 'new' })).toMatchObject({
      reason: 'ACCOUNT_FROZEN',
    });
    expect(ledger.run({ do: 'resize', holdId, target: usd(4), demand: 'new' }).ok).toBe(true);
    expect(ledger.run({ do: 'resize', holdId, target: usd(5), demand: 'running' }).ok).toBe(true);
  });

  it('refuses a hold that is closed, absent, of another organisation or of the other mode', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 4);
    ledger.run({ do: 'close', holdId });
    expect(ledger.run({ do: 'resize', holdId, target: usd(1), demand: 'new' })).toMatchObject({
      reason: 'HOLD_CLOSED',
    });
    expect(
      ledger.run({ do: 'resize', holdId: ids.next('hld'), target: usd(1), demand: 'new' }),
    ).toMatchObject({
      reason: 'HOLD_NOT_FOUND',
    });
    const mine = holdOf(ledger, 1);
    const hold = [...ledger.slice.holds.values()].at(-1);
    Object.assign(hold ?? {}, { orgId: 'other' });
    expect(ledger.run({ do: 'close', holdId: mine })).toMatchObject({ reason: 'HOLD_NOT_FOUND' });
    Object.assign(hold ?? {}, { orgId: ledger.wallet.orgId, mode: 'test' });
    expect(ledger.run(post(mine, 1, 'keep'))).toMatchObject({ reason: 'HOLD_NOT_FOUND' });
  });
});

describe('posting from a hold', () => {
  it('charges the hold, pays the shares and keeps the rest set aside', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 6);
    const result = ok(ledger.run({ ...post(holdId, 2, 'keep'), usage: { gpuMs: 5 } }));
    expect(result).toMatchObject({ amount: -2n, held: 4n, shortfall: 0n, balanceAfter: 8n, replayed: false });
    expect(money(ledger)).toEqual([8n, 4n]);
    expect(ledger.system({ kind: 'revenue', product: 'rental' }).balance).toBe(2n);
    expect(ledger.slice.newTransfers).toMatchObject([
      {
        kind: 'charge',
        amount: -2n,
        causeKind: 'test',
        causeId: 'thing',
        description: 'Use',
        usage: { gpuMs: 5 },
      },
    ]);
    expect([...ledger.slice.holds.values()]).toMatchObject([{ posted: 2n, held: 4n }]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('happens once for a cause and step, also when the hold is closed since', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 6);
    const first = ledger.run({ ...post(holdId, 2, 'close'), step: 'same' });
    const again = ledger.run({ ...post(holdId, 2, 'close'), step: 'same' });
    expect(again).toEqual({ ...first, replayed: true });
    expect(money(ledger)).toEqual([8n, 0n]);
    expect(ledger.run({ ...post(holdId, 2, 'close') })).toMatchObject({ reason: 'HOLD_CLOSED' });
  });

  it('can bring the hold to an amount for what comes next, as far as the money reaches', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 3);
    expect(ok(ledger.run(post(holdId, 2, { target: usd(5) }))).held).toBe(5n);
    expect(ok(ledger.run(post(holdId, 2, { target: usd(50) }))).held).toBe(6n);
    expect(ok(ledger.run(post(holdId, 2, { target: usd(1) }))).held).toBe(1n);
    expect(money(ledger)).toEqual([4n, 1n]);
  });

  it('of nothing moves no money, and still does what comes afterwards', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 3);
    expect(ok(ledger.run(post(holdId, 0, 'close')))).toMatchObject({ transferId: null, held: 0n });
    expect(ledger.slice.newTransfers).toEqual([]);
    expect(money(ledger)).toEqual([10n, 0n]);
  });

  it('takes from the balance what the hold lacks, and from the operator what the balance lacks', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 3);
    expect(ok(ledger.run(post(holdId, 5, 'keep')))).toMatchObject({ amount: -5n, held: 0n, shortfall: 0n });
    expect(money(ledger)).toEqual([5n, 0n]);
    expect(ok(ledger.run(post(holdId, 9, 'close')))).toMatchObject({
      amount: -5n,
      shortfall: 4n,
      balanceAfter: 0n,
    });
    expect(ledger.system({ kind: 'shortfall' }).balance).toBe(-4n);
    expect(ledger.system({ kind: 'revenue', product: 'rental' }).balance).toBe(14n);
    expect([...ledger.slice.holds.values()]).toMatchObject([{ posted: 10n }]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('leaves the balance alone where the operator answers for what the hold lacks', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 3);
    const result = ok(ledger.run({ ...post(holdId, 5, 'keep'), beyondHold: 'operator' }));
    expect(result).toMatchObject({ amount: -3n, held: 0n, shortfall: 2n, balanceAfter: 7n });
    expect(money(ledger)).toEqual([7n, 0n]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('spends the promotional part of the hold first, also after its expiry', () => {
    const ledger = createTestLedger({ balance: 10n });
    const promo = ledger.addPromo({ balance: 3n, priority: 1, expiresAtMs: startMs + 1 });
    const holdId = holdOf(ledger, 8);
    Object.assign(ledger.slice, { nowMs: startMs + 5 });
    ledger.run(post(holdId, 2, 'keep'));
    expect([promo.balance, promo.held]).toEqual([1n, 1n]);
    ledger.run(post(holdId, 2, 'keep'));
    expect([promo.balance, ledger.wallet.credit.balance, ledger.wallet.credit.held]).toEqual([0n, 9n, 4n]);
  });

  it('counts against the budgets of the key that the hold was taken for, or that is named', () => {
    const ledger = createTestLedger({ balance: 100n });
    const [first, second] = [ids.next('key'), ids.next('key')];
    const a = ledger.addLimit({ left: 50n, keyIds: [toUuid(first)] }).limit;
    const b = ledger.addLimit({ left: 50n, keyIds: [toUuid(second)] }).limit;
    const { holdId } = ok(ledger.run({ do: 'hold', amount: usd(10), demand: 'new', keyId: first }));
    ledger.run(post(holdId, 4, 'keep'));
    expect([a.balance, a.held, b.balance]).toEqual([46n, 6n, 50n]);
    ledger.run({ ...post(holdId, 3, 'keep'), keyId: second });
    expect([a.balance, a.held, b.balance]).toEqual([46n, 3n, 47n]);
    expect(ledger.slice.newTransfers.map((transfer) => transfer.keyId)).toEqual([first, second].map(toUuid));
    expect(ledger.system({ kind: 'limit_contra' }).balance).toBe(7n);
  });

  it('beyond the hold stops at a budget that stops everything: the operator bears the rest', () => {
    const ledger = createTestLedger({ balance: 100n });
    const { limit } = ledger.addLimit({ left: 10n });
    const holdId = holdOf(ledger, 8);
    expect(ok(ledger.run(post(holdId, 20, 'keep')))).toMatchObject({ amount: -10n, shortfall: 10n });
    expect([limit.balance, limit.held]).toEqual([0n, 0n]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('counts only what fits when the budget was made after the hold', () => {
    const ledger = createTestLedger({ balance: 100n });
    const holdId = holdOf(ledger, 30);
    const { limit } = ledger.addLimit({ left: 10n });
    expect(ok(ledger.run(post(holdId, 30, 'keep')))).toMatchObject({ amount: -30n, shortfall: 0n });
    expect(limit.balance).toBe(0n);
    const notifying = ledger.addLimit({ left: 10n, onExceeded: 'notify' }).limit;
    ledger.run({ do: 'close', holdId });
    Object.assign(limit, { budget: null });
    const more = ok(ledger.run({ do: 'hold', amount: usd(30), demand: 'running' }));
    ledger.run(post(more.holdId, 30, 'keep'));
    expect(notifying.balance).toBe(-20n);
  });

  it('announces each threshold once in a period, and the end of the budget', () => {
    const ledger = createTestLedger({ balance: 1_000n });
    ledger.addLimit({ left: 100n, thresholdsPercent: [50, 75], onExceeded: 'notify' });
    const holdId = holdOf(ledger, 200);
    const notified = () => ledger.slice.notices.map((notice) => notice.thresholdPercent);
    ledger.run(post(holdId, 49, 'keep'));
    expect(notified()).toEqual([]);
    ledger.run(post(holdId, 1, 'keep'));
    expect(notified()).toEqual([50]);
    ledger.run(post(holdId, 10, 'keep'));
    expect(notified()).toEqual([50]);
    ledger.run(post(holdId, 60, 'keep'));
    expect(notified()).toEqual([50, 75, 100]);
    ledger.run(post(holdId, 10, 'keep'));
    expect(notified()).toEqual([50, 75, 100]);
  });

  it('pays a supplier and the fee by their shares, which must add up', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 10);
    const to = [
      { account: { kind: 'supplier_payable', orgId: ledger.supplierId }, amount: usd(8) },
      { account: { kind: 'platform_fee' }, amount: usd(2) },
    ] as const;
    ledger.run({ ...post(holdId, 10, 'close'), to });
    expect([ledger.payable.balance, ledger.system({ kind: 'platform_fee' }).balance]).toEqual([8n, 2n]);
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
    const ledger = createTestLedger({ balance: 10n });
    const { limit } = ledger.addLimit({ left: 50n });
    const holdId = holdOf(ledger, 6);
    expect(ok(ledger.run({ do: 'close', holdId }))).toMatchObject({ held: 0n, replayed: false });
    expect([...money(ledger), limit.held]).toEqual([10n, 0n, 0n]);
    expect(ok(ledger.run({ do: 'close', holdId }))).toMatchObject({ held: 0n, replayed: true });
    expect([...ledger.slice.holds.values()]).toMatchObject([{ closedAtMs: startMs, touched: true }]);
    expect(ledger.run({ do: 'close', holdId: ids.next('hld') })).toMatchObject({ reason: 'HOLD_NOT_FOUND' });
  });
});

describe('what the store has to write', () => {
  const settle = (ledger: TestLedger): void => {
    for (const each of ledger.slice.accounts.values()) each.touched = false;
    for (const hold of ledger.slice.holds.values()) hold.touched = false;
  };
  const touched = (ledger: TestLedger): readonly string[] => [
    ...[...ledger.slice.accounts.values()].filter((each) => each.touched).map((each) => each.kind),
    ...[...ledger.slice.holds.values()].filter((hold) => hold.touched).map(() => 'hold'),
  ];

  it('is exactly what changed', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 6);
    expect(touched(ledger)).toEqual(['credit', 'hold']);
    expect([...ledger.slice.holds.values()]).toMatchObject([{ isNew: true }]);
    const commands = [
      { do: 'resize', holdId, target: usd(7), demand: 'new' },
      { do: 'resize', holdId, target: usd(5), demand: 'new' },
      { do: 'close', holdId },
    ] as const;
    for (const command of commands) {
      settle(ledger);
      ledger.run(command);
      expect(touched(ledger)).toEqual(['credit', 'hold']);
    }
    settle(ledger);
    ledger.run({ do: 'close', holdId });
    expect(touched(ledger)).toEqual([]);
    const empty = holdOf(ledger, 0);
    settle(ledger);
    ledger.run({ do: 'close', holdId: empty });
    expect(touched(ledger)).toEqual(['hold']);
  });
});

describe('a charge of nothing', () => {
  it('that closed its hold is answered alike again; one that would have kept it is refused', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 3);
    ledger.run(post(holdId, 0, 'close'));
    expect(ok(ledger.run(post(holdId, 0, 'close')))).toMatchObject({ replayed: true, holdId, held: 0n });
    expect(ledger.run(post(holdId, 0, 'keep'))).toMatchObject({ reason: 'HOLD_CLOSED' });
    expect(ledger.run(post(ids.next('hld'), 0, 'close'))).toMatchObject({ reason: 'HOLD_NOT_FOUND' });
  });
});

describe('a hold of budgets alone', () => {
  it('touches those it names, and no other budget of the organisation', () => {
    const ledger = createTestLedger({ balance: 50n });
    const named = ledger.addLimit({ left: 20n });
    const other = ledger.addLimit({ left: 20n });
    const { holdId } = ok(ledger.run({ do: 'hold', amount: usd(0), demand: 'new', onlyBudgets: [named.id] }));
    if (holdId === null) throw new Error('no hold');
    ledger.run({ do: 'resize', holdId, target: usd(8), demand: 'new' });
    expect([named.limit.held, other.limit.held, ledger.wallet.credit.held]).toEqual([8n, 0n, 0n]);
    expect(ledger.run({ do: 'resize', holdId, target: usd(21), demand: 'new' })).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
    });
    const plain = holdOf(ledger, 0);
    ledger.run({ do: 'resize', holdId: plain, target: usd(2), demand: 'new' });
    expect([named.limit.held, other.limit.held, ledger.wallet.credit.held]).toEqual([10n, 2n, 2n]);
  });
});
