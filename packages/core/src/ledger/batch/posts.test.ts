import { createIdSource, toUuid } from '@millrace/platform/ids';
import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, it } from 'vitest';
import {
  createTestLedger,
  revenue,
  startMs,
  findInconsistencies,
  usd,
  ok,
  holdOf,
  post,
  money,
} from './test-ledger.fixture.ts';

const ids = createIdSource({ clock: new SimulatedClock(startMs), cell: 2 });

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
