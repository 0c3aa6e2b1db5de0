import { describe, expect, it } from 'vitest';
import {
  reserveFromModel,
  closeLease,
  enlargeLease,
  openLease,
  recallFromModel,
  remainingOf,
  settleInModel,
  type ModelLease,
} from './lease-model.fixture.ts';

const grant = (
  granted: bigint,
  more: { epoch?: bigint; budget?: bigint; admitUntilMs?: number; leaseId?: string } = {},
) => ({
  leaseId: more.leaseId ?? `lease-${more.epoch ?? 1n}`,
  epoch: more.epoch ?? 1n,
  granted,
  budgets: new Map(more.budget === undefined ? [] : [['b', more.budget]]),
  admitUntilMs: more.admitUntilMs ?? 1_000,
});

function opened(granted: bigint, more: Parameters<typeof grant>[1] = {}): ModelLease {
  const [, lease] = openLease(null, grant(granted, more));
  return lease ?? expect.fail('no pot');
}

const requestOf = (
  amount: bigint,
  more: { id?: string; least?: bigint; budgets?: string[]; epoch?: bigint; nowMs?: number } = {},
) => ({
  epoch: more.epoch ?? 1n,
  reservation: more.id ?? 'g:1',
  amount,
  least: more.least ?? amount,
  budgets: more.budgets ?? [],
  nowMs: more.nowMs ?? 0,
});

function admitted(lease: ModelLease, ...args: Parameters<typeof requestOf>): ModelLease {
  const [result, next] = reserveFromModel(lease, requestOf(...args));
  expect(result.outcome).toBe('admitted');
  return next ?? expect.fail('no pot');
}

describe('openLease', () => {
  it('starts with the granted amount and nothing used', () => {
    expect(opened(100n, { budget: 40n, admitUntilMs: 7 })).toEqual({
      leaseId: 'lease-1',
      epoch: 1n,
      amounts: { granted: 100n, recalled: 0n, reserved: 0n, spent: 0n },
      budgets: new Map([['b', { granted: 40n, recalled: 0n, reserved: 0n, spent: 0n }]]),
      reservations: new Map(),
      admitUntilMs: 7,
      closed: false,
    });
  });

  it('is idempotent, accepts a newer epoch and rejects an older one', () => {
    const lease = admitted(opened(100n), 30n);
    expect(openLease(lease, grant(500n))).toEqual(['opened', lease]);
    expect(openLease(lease, grant(500n, { epoch: 0n }))).toEqual(['stale', lease]);
    const [response, next] = openLease(lease, grant(500n, { epoch: 2n }));
    expect(response).toBe('opened');
    expect(next).toEqual(opened(500n, { epoch: 2n }));
  });

  it('rejects an epoch of another lease and keeps the credit of that lease', () => {
    const lease = opened(100n);
    expect(openLease(lease, grant(500n, { leaseId: 'another' }))).toEqual(['stale', lease]);
    expect(enlargeLease(lease, grant(500n, { leaseId: 'another' }))).toEqual(['gone', lease]);
  });
});

describe('enlargeLease', () => {
  it('keeps the larger absolute amount, in any order of messages', () => {
    const lease = opened(100n, { budget: 10n });
    const [, once] = enlargeLease(lease, grant(300n, { budget: 50n, admitUntilMs: 5_000 }));
    const [response, twice] = enlargeLease(once, grant(200n, { budget: 20n, admitUntilMs: 4_000 }));
    expect(response).toBe('granted');
    expect(twice).toEqual(once);
    expect(once?.amounts.granted).toBe(300n);
    expect(once?.budgets.get('b')?.granted).toBe(50n);
    expect(once?.admitUntilMs).toBe(5_000);
  });

  it('adds a budget that had no grant before', () => {
    const [, lease] = enlargeLease(opened(100n), grant(100n, { budget: 30n }));
    expect(lease?.budgets.get('b')).toEqual({ granted: 30n, recalled: 0n, reserved: 0n, spent: 0n });
  });

  it('rejects a lease that is lost, closed or of another epoch', () => {
    expect(enlargeLease(null, grant(1n))).toEqual(['gone', null]);
    const lease = opened(1n);
    expect(enlargeLease(lease, grant(9n, { epoch: 2n }))).toEqual(['gone', lease]);
    const [, closed] = closeLease(lease, 1n);
    expect(enlargeLease(closed, grant(9n))).toEqual(['closed', closed]);
  });
});

describe('reserveFromModel', () => {
  it('admits requests up to exactly the granted amount', () => {
    const lease = admitted(opened(100n), 60n);
    expect(reserveFromModel(lease, requestOf(41n, { id: 'g:2' }))).toEqual([
      { outcome: 'dry', remaining: 40n, reserved: 60n },
      lease,
    ]);
    const [result, next] = reserveFromModel(lease, requestOf(40n, { id: 'g:2' }));
    expect(result).toEqual({ outcome: 'admitted', amount: 40n, remaining: 0n });
    expect(next?.amounts.reserved).toBe(100n);
    expect(next?.reservations.get('g:2')).toMatchObject({ amount: 40n, budgets: [] });
  });

  it('admits the same request once', () => {
    const lease = admitted(opened(100n), 60n);
    expect(reserveFromModel(lease, requestOf(60n))).toEqual([
      { outcome: 'admitted', amount: 60n, remaining: 40n },
      lease,
    ]);
    const [, closed] = closeLease(lease, 1n);
    expect(reserveFromModel(closed, requestOf(60n, { nowMs: 9_999 }))[0].outcome).toBe('admitted');
  });

  it('checks every budget and reserves in all of them or in none', () => {
    const lease = opened(100n, { budget: 50n });
    expect(reserveFromModel(lease, requestOf(51n, { budgets: ['b'] }))).toEqual([
      { outcome: 'budget dry', budget: 'b', remaining: 50n, reserved: 0n },
      lease,
    ]);
    expect(reserveFromModel(lease, requestOf(1n, { budgets: ['b', 'c'] }))).toEqual([
      { outcome: 'budget dry', budget: 'c', remaining: 0n, reserved: 0n },
      lease,
    ]);
    const next = admitted(lease, 50n, { budgets: ['b'] });
    expect(next.budgets.get('b')?.reserved).toBe(50n);
    expect(next.amounts.reserved).toBe(50n);
  });

  it('rejects an expired lease, another epoch and a closed lease', () => {
    const lease = opened(100n, { admitUntilMs: 10 });
    expect(reserveFromModel(lease, requestOf(1n, { nowMs: 9 }))[0].outcome).toBe('admitted');
    expect(reserveFromModel(lease, requestOf(1n, { nowMs: 10 }))).toEqual([{ outcome: 'expired' }, lease]);
    expect(reserveFromModel(lease, requestOf(1n, { epoch: 2n }))).toEqual([{ outcome: 'gone' }, lease]);
    expect(reserveFromModel(null, requestOf(1n))).toEqual([{ outcome: 'gone' }, null]);
    const [, closed] = closeLease(opened(100n), 1n);
    expect(reserveFromModel(closed, requestOf(0n))[0]).toEqual({ outcome: 'closed' });
  });
});

describe('settleInModel', () => {
  it('returns the unused amount to lease and budgets, once', () => {
    const lease = admitted(opened(100n, { budget: 100n }), 60n, { budgets: ['b'] });
    const [response, next] = settleInModel(lease, { epoch: 1n, reservation: 'g:1', actual: 25n });
    expect(response).toBe('settled');
    const expected = { granted: 100n, recalled: 0n, reserved: 0n, spent: 25n };
    expect(next?.amounts).toEqual(expected);
    expect(next?.budgets.get('b')).toEqual(expected);
    expect(next?.reservations.size).toBe(0);
    expect(settleInModel(next, { epoch: 1n, reservation: 'g:1', actual: 25n })).toEqual(['gone', next]);
  });

  it('counts usage beyond the reservation', () => {
    const [, lease] = settleInModel(admitted(opened(100n), 10n), {
      epoch: 1n,
      reservation: 'g:1',
      actual: 130n,
    });
    expect(remainingOf(lease?.amounts ?? expect.fail('no pot'))).toBe(-30n);
  });

  it('rejects other epochs', () => {
    const lease = admitted(opened(100n), 10n);
    expect(settleInModel(lease, { epoch: 2n, reservation: 'g:1', actual: 1n })).toEqual(['gone', lease]);
    expect(settleInModel(null, { epoch: 1n, reservation: 'g:1', actual: 1n })).toEqual(['gone', null]);
  });
});

describe('recallFromModel', () => {
  it('takes the wanted amount as far as it is unreserved', () => {
    const lease = admitted(opened(100n), 30n);
    const [some, less] = recallFromModel(lease, { epoch: 1n, known: 0n, wanted: 50n });
    expect(some).toEqual({ recalled: 50n });
    expect(less?.amounts).toEqual({ granted: 100n, recalled: 50n, reserved: 30n, spent: 0n });
    expect(recallFromModel(less, { epoch: 1n, known: 50n, wanted: 50n })[0]).toEqual({ recalled: 70n });
  });

  it('is idempotent when repeated after a lost response', () => {
    const [, less] = recallFromModel(opened(100n), { epoch: 1n, known: 0n, wanted: 50n });
    expect(recallFromModel(less, { epoch: 1n, known: 0n, wanted: 50n })[0]).toEqual({ recalled: 50n });
    expect(recallFromModel(less, { epoch: 1n, known: 0n, wanted: 60n })[0]).toEqual({ recalled: 60n });
    expect(recallFromModel(less, { epoch: 1n, known: 0n, wanted: 10n })[0]).toEqual({ recalled: 50n });
  });

  it('takes nothing from an overdrawn lease and rejects another epoch', () => {
    const [, lease] = settleInModel(admitted(opened(100n), 10n), {
      epoch: 1n,
      reservation: 'g:1',
      actual: 130n,
    });
    expect(recallFromModel(lease, { epoch: 1n, known: 0n, wanted: 10n })[0]).toEqual({ recalled: 0n });
    expect(recallFromModel(lease, { epoch: 2n, known: 0n, wanted: 10n })).toEqual(['gone', lease]);
  });
});

describe('closeLease', () => {
  it('recalls all unreserved credit of lease and budgets, and is idempotent', () => {
    const lease = admitted(opened(100n, { budget: 70n }), 30n, { budgets: ['b'] });
    const [response, closed] = closeLease(lease, 1n);
    expect(response).toBe('closed');
    expect(closed?.closed).toBe(true);
    expect(closed?.amounts.recalled).toBe(70n);
    expect(closed?.budgets.get('b')?.recalled).toBe(40n);
    expect(closeLease(closed, 1n)).toEqual(['closed', closed]);
    expect(closeLease(lease, 2n)).toEqual(['gone', lease]);
  });

  it('recalls nothing from an overdrawn lease', () => {
    const [, lease] = settleInModel(admitted(opened(100n), 10n), {
      epoch: 1n,
      reservation: 'g:1',
      actual: 130n,
    });
    expect(closeLease(lease, 1n)[1]?.amounts.recalled).toBe(0n);
  });
});
