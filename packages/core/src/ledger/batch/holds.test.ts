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

describe('hold of paid money only', () => {
  const supplied = { of: 'paid' } as const;

  it('is refused if only promotional credit remains, and takes none of it if both exist', () => {
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

  it('takes no promotional credit when it grows, is renewed or is exceeded', () => {
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

describe('hold', () => {
  it('admits exactly the available balance and refuses one nano-USD more', () => {
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

  it('may be smaller than requested, but not below atLeast', () => {
    const ledger = createTestLedger({ balance: 10n });
    expect(ledger.run({ do: 'hold', amount: usd(30), atLeast: usd(11), demand: 'new' }).ok).toBe(false);
    expect(ok(ledger.run({ do: 'hold', amount: usd(30), atLeast: usd(10), demand: 'new' })).held).toBe(10n);
  });

  it('is idempotent for a cause and step', () => {
    const ledger = createTestLedger({ balance: 10n });
    const first = ledger.run({ do: 'hold', amount: usd(4), demand: 'new', step: 'same' });
    const again = ledger.run({ do: 'hold', amount: usd(4), demand: 'new', step: 'same' });
    expect(again).toEqual({ ...first, replayed: true });
    expect(money(ledger)).toEqual([10n, 4n]);
  });

  it('of zero succeeds without money', () => {
    const ledger = createTestLedger();
    expect(ok(ledger.run({ do: 'hold', amount: usd(0), demand: 'new' })).held).toBe(0n);
  });

  it('is refused for new work on a frozen account and granted for running work', () => {
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

  it('takes promotional credit first and skips expired credit', () => {
    const ledger = createTestLedger({ balance: 10n });
    const expired = ledger.addPromo({ balance: 5n, priority: 1, expiresAtMs: startMs });
    const soon = ledger.addPromo({ balance: 3n, priority: 50, expiresAtMs: startMs + 1 });
    holdOf(ledger, 8);
    expect([expired.held, soon.held, ledger.wallet.credit.held]).toEqual([0n, 3n, 5n]);
  });
});

describe('budget with holds', () => {
  it('holds the amount in every refusing budget, and the refusal names the tightest', () => {
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

  it('of one key ignores the work of other keys and of no key', () => {
    const ledger = createTestLedger({ balance: 100n });
    const [mine, other] = [ids.next('key'), ids.next('key')];

    ledger.addLimit({ left: 5n, keyIds: [toUuid(mine)] });
    expect(ledger.run({ do: 'hold', amount: usd(6), demand: 'new', keyId: mine })).toMatchObject({
      reason: 'BUDGET_EXCEEDED',
    });
    expect(ledger.run({ do: 'hold', amount: usd(6), demand: 'new', keyId: other }).ok).toBe(true);
    expect(ledger.run({ do: 'hold', amount: usd(6), demand: 'new' }).ok).toBe(true);
  });

  it('can be held alone for a credit lease, without a hold on the balance', () => {
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

  it('starts its next period with the full limit, less what running work holds', () => {
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

  it('keeps its remaining amount until its period ends, and forever without an end', () => {
    const ledger = createTestLedger({ balance: 100n });
    const running = ledger.addLimit({ left: 4n, limit: 10n, periodEndMs: startMs + 1 }).limit;
    const total = ledger.addLimit({ left: 4n, limit: 10n, period: 'total', periodEndMs: null }).limit;
    holdOf(ledger, 1);
    expect([running.balance, total.balance]).toEqual([4n, 4n]);
  });
});

describe('resize', () => {
  it('sets the hold to the target, up or down, and is idempotent', () => {
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

  it('refuses more than the balance unless atLeast allows less', () => {
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

  it('releases the account that is spent first last', () => {
    const ledger = createTestLedger({ balance: 10n });
    const promo = ledger.addPromo({ balance: 3n, priority: 1 });
    const holdId = holdOf(ledger, 8);
    ledger.run({ do: 'resize', holdId, target: usd(4), demand: 'new' });
    expect([promo.held, ledger.wallet.credit.held]).toEqual([3n, 1n]);
  });

  it('on a frozen account shrinks the hold, and grows it for running work only', () => {
    const ledger = createTestLedger({ balance: 10n, frozen: true });
    const { holdId } = ok(ledger.run({ do: 'hold', amount: usd(4), demand: 'running' }));
    if (holdId === null) throw new Error('no hold');
    expect(ledger.run({ do: 'resize', holdId, target: usd(5), demand: 'new' })).toMatchObject({
      reason: 'ACCOUNT_FROZEN',
    });
    expect(ledger.run({ do: 'resize', holdId, target: usd(4), demand: 'new' }).ok).toBe(true);
    expect(ledger.run({ do: 'resize', holdId, target: usd(5), demand: 'running' }).ok).toBe(true);
  });

  it('refuses a hold that is closed, unknown, of another organisation or of another mode', () => {
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

describe('post', () => {
  it('charges the hold, pays the shares and keeps the rest held', () => {
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

  it('is idempotent for a cause and step, also after the hold was closed', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 6);
    const first = ledger.run({ ...post(holdId, 2, 'close'), step: 'same' });
    const again = ledger.run({ ...post(holdId, 2, 'close'), step: 'same' });
    expect(again).toEqual({ ...first, replayed: true });
    expect(money(ledger)).toEqual([8n, 0n]);
    expect(ledger.run({ ...post(holdId, 2, 'close') })).toMatchObject({ reason: 'HOLD_CLOSED' });
  });

  it('can set the hold to a new target, as far as the balance reaches', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 3);
    expect(ok(ledger.run(post(holdId, 2, { target: usd(5) }))).held).toBe(5n);
    expect(ok(ledger.run(post(holdId, 2, { target: usd(50) }))).held).toBe(6n);
    expect(ok(ledger.run(post(holdId, 2, { target: usd(1) }))).held).toBe(1n);
    expect(money(ledger)).toEqual([4n, 1n]);
  });

  it('of zero moves no money but still closes the hold', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 3);
    expect(ok(ledger.run(post(holdId, 0, 'close')))).toMatchObject({ transferId: null, held: 0n });
    expect(ledger.slice.newTransfers).toEqual([]);
    expect(money(ledger)).toEqual([10n, 0n]);
  });

  it('takes the missing amount from the balance, then from the operator', () => {
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

  it('leaves the balance unchanged if the operator pays beyond the hold', () => {
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

  it("counts against the budgets of the hold's key, or of the key in the command", () => {
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

  it('stops beyond the hold at a stop_everything budget, and the operator absorbs the rest', () => {
    const ledger = createTestLedger({ balance: 100n });
    const { limit } = ledger.addLimit({ left: 10n });
    const holdId = holdOf(ledger, 8);
    expect(ok(ledger.run(post(holdId, 20, 'keep')))).toMatchObject({ amount: -10n, shortfall: 10n });
    expect([limit.balance, limit.held]).toEqual([0n, 0n]);
    expect(findInconsistencies(ledger)).toEqual([]);
  });

  it('counts only what fits into a budget that is newer than the hold', () => {
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

  it('announces each threshold once per period, and the exhausted budget', () => {
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

  it('pays supplier and platform fee by shares, which must add up', () => {
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

describe('close', () => {
  it('releases the rest once and returns the same result again', () => {
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

describe('rows to write', () => {
  const settle = (ledger: TestLedger): void => {
    for (const each of ledger.slice.accounts.values()) each.touched = false;
    for (const hold of ledger.slice.holds.values()) hold.touched = false;
  };
  const touched = (ledger: TestLedger): readonly string[] => [
    ...[...ledger.slice.accounts.values()].filter((each) => each.touched).map((each) => each.kind),
    ...[...ledger.slice.holds.values()].filter((hold) => hold.touched).map(() => 'hold'),
  ];

  it('are exactly the changed ones', () => {
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

describe('zero charge', () => {
  it('that closed its hold can be replayed, but one that keeps the hold is refused', () => {
    const ledger = createTestLedger({ balance: 10n });
    const holdId = holdOf(ledger, 3);
    ledger.run(post(holdId, 0, 'close'));
    expect(ok(ledger.run(post(holdId, 0, 'close')))).toMatchObject({ replayed: true, holdId, held: 0n });
    expect(ledger.run(post(holdId, 0, 'keep'))).toMatchObject({ reason: 'HOLD_CLOSED' });
    expect(ledger.run(post(ids.next('hld'), 0, 'close'))).toMatchObject({ reason: 'HOLD_NOT_FOUND' });
  });
});

describe('hold of budgets only', () => {
  it('changes the named budgets and no other budget of the organisation', () => {
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
