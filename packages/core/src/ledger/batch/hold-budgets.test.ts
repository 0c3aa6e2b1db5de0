import { createIdSource, toUuid } from '@millrace/platform/ids';
import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, it } from 'vitest';
import { createTestLedger, startMs, findInconsistencies, usd, ok, holdOf } from './test-ledger.fixture.ts';

const ids = createIdSource({ clock: new SimulatedClock(startMs), cell: 2 });

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
