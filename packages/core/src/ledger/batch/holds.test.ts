import { createIdSource } from '@millrace/platform/ids';
import { SimulatedClock } from '@millrace/platform/clock';
import { describe, expect, it } from 'vitest';
import {
  createTestLedger,
  startMs,
  findInconsistencies,
  usd,
  type TestLedger,
  ok,
  holdOf,
  post,
  money,
} from './test-ledger.fixture.ts';

const ids = createIdSource({ clock: new SimulatedClock(startMs), cell: 2 });

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
