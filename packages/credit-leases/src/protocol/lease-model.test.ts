import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  admissionMs,
  reserveFromModel,
  clampRecalled,
  closeLease,
  enlargeLease,
  expectedUsage,
  fitsInLease,
  heldAmount,
  isHolderProcessed,
  lowWaterOf,
  canClose,
  maxPerLease,
  openLease,
  planLease,
  recallFromModel,
  remainingOf,
  checkLeaseTimes,
  settleInModel,
  sizeGrant,
  toAdmissionErrorReason,
  type ModelLease,
  type GrantSizeInput,
} from './lease-model.ts';

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

describe('opening a pot', () => {
  it('begins with what is lent and nothing used', () => {
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

  it('changes nothing the second time, gives way to a newer epoch and never to an older one', () => {
    const lease = admitted(opened(100n), 30n);
    expect(openLease(lease, grant(500n))).toEqual(['opened', lease]);
    expect(openLease(lease, grant(500n, { epoch: 0n }))).toEqual(['stale', lease]);
    const [response, next] = openLease(lease, grant(500n, { epoch: 2n }));
    expect(response).toBe('opened');
    expect(next).toEqual(opened(500n, { epoch: 2n }));
  });

  it('refuses an epoch that another lease has used, and keeps the money of that lease', () => {
    const lease = opened(100n);
    expect(openLease(lease, grant(500n, { leaseId: 'another' }))).toEqual(['stale', lease]);
    expect(enlargeLease(lease, grant(500n, { leaseId: 'another' }))).toEqual(['gone', lease]);
  });
});

describe('enlarging a pot', () => {
  it('goes by absolute amounts: the larger one counts, whatever the order', () => {
    const lease = opened(100n, { budget: 10n });
    const [, once] = enlargeLease(lease, grant(300n, { budget: 50n, admitUntilMs: 5_000 }));
    const [response, twice] = enlargeLease(once, grant(200n, { budget: 20n, admitUntilMs: 4_000 }));
    expect(response).toBe('granted');
    expect(twice).toEqual(once);
    expect(once?.amounts.granted).toBe(300n);
    expect(once?.budgets.get('b')?.granted).toBe(50n);
    expect(once?.admitUntilMs).toBe(5_000);
  });

  it('takes on a budget that was not lent before', () => {
    const [, lease] = enlargeLease(opened(100n), grant(100n, { budget: 30n }));
    expect(lease?.budgets.get('b')).toEqual({ granted: 30n, recalled: 0n, reserved: 0n, spent: 0n });
  });

  it('is refused for a pot that is lost, of another epoch or closed', () => {
    expect(enlargeLease(null, grant(1n))).toEqual(['gone', null]);
    const lease = opened(1n);
    expect(enlargeLease(lease, grant(9n, { epoch: 2n }))).toEqual(['gone', lease]);
    const [, closed] = closeLease(lease, 1n);
    expect(enlargeLease(closed, grant(9n))).toEqual(['closed', closed]);
  });
});

describe('admission', () => {
  it('reserves up to the last nano-dollar and not one more', () => {
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

  it('asks each budget too, and reserves in all or in none', () => {
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

  it('ends with the lease, with its epoch and with the pot', () => {
    const lease = opened(100n, { admitUntilMs: 10 });
    expect(reserveFromModel(lease, requestOf(1n, { nowMs: 9 }))[0].outcome).toBe('admitted');
    expect(reserveFromModel(lease, requestOf(1n, { nowMs: 10 }))).toEqual([{ outcome: 'expired' }, lease]);
    expect(reserveFromModel(lease, requestOf(1n, { epoch: 2n }))).toEqual([{ outcome: 'gone' }, lease]);
    expect(reserveFromModel(null, requestOf(1n))).toEqual([{ outcome: 'gone' }, null]);
    const [, closed] = closeLease(opened(100n), 1n);
    expect(reserveFromModel(closed, requestOf(0n))[0]).toEqual({ outcome: 'closed' });
  });
});

describe('settling', () => {
  it('gives back what was not spent, in the budgets too, and only once', () => {
    const lease = admitted(opened(100n, { budget: 100n }), 60n, { budgets: ['b'] });
    const [response, next] = settleInModel(lease, { epoch: 1n, reservation: 'g:1', actual: 25n });
    expect(response).toBe('settled');
    const expected = { granted: 100n, recalled: 0n, reserved: 0n, spent: 25n };
    expect(next?.amounts).toEqual(expected);
    expect(next?.budgets.get('b')).toEqual(expected);
    expect(next?.reservations.size).toBe(0);
    expect(settleInModel(next, { epoch: 1n, reservation: 'g:1', actual: 25n })).toEqual(['gone', next]);
  });

  it('counts what was spent beyond the reservation', () => {
    const [, lease] = settleInModel(admitted(opened(100n), 10n), {
      epoch: 1n,
      reservation: 'g:1',
      actual: 130n,
    });
    expect(remainingOf(lease?.amounts ?? expect.fail('no pot'))).toBe(-30n);
  });

  it('knows nothing of other epochs', () => {
    const lease = admitted(opened(100n), 10n);
    expect(settleInModel(lease, { epoch: 2n, reservation: 'g:1', actual: 1n })).toEqual(['gone', lease]);
    expect(settleInModel(null, { epoch: 1n, reservation: 'g:1', actual: 1n })).toEqual(['gone', null]);
  });
});

describe('a recall', () => {
  it('takes what is wanted, as far as it is not reserved', () => {
    const lease = admitted(opened(100n), 30n);
    const [some, less] = recallFromModel(lease, { epoch: 1n, known: 0n, wanted: 50n });
    expect(some).toEqual({ recalled: 50n });
    expect(less?.amounts).toEqual({ granted: 100n, recalled: 50n, reserved: 30n, spent: 0n });
    expect(recallFromModel(less, { epoch: 1n, known: 50n, wanted: 50n })[0]).toEqual({ recalled: 70n });
  });

  it('that is repeated because the first was not recorded takes nothing more', () => {
    const [, less] = recallFromModel(opened(100n), { epoch: 1n, known: 0n, wanted: 50n });
    expect(recallFromModel(less, { epoch: 1n, known: 0n, wanted: 50n })[0]).toEqual({ recalled: 50n });
    expect(recallFromModel(less, { epoch: 1n, known: 0n, wanted: 60n })[0]).toEqual({ recalled: 60n });
    expect(recallFromModel(less, { epoch: 1n, known: 0n, wanted: 10n })[0]).toEqual({ recalled: 50n });
  });

  it('takes nothing from a pot that is overdrawn, and finds no pot of another epoch', () => {
    const [, lease] = settleInModel(admitted(opened(100n), 10n), {
      epoch: 1n,
      reservation: 'g:1',
      actual: 130n,
    });
    expect(recallFromModel(lease, { epoch: 1n, known: 0n, wanted: 10n })[0]).toEqual({ recalled: 0n });
    expect(recallFromModel(lease, { epoch: 2n, known: 0n, wanted: 10n })).toEqual(['gone', lease]);
  });
});

describe('closing a pot', () => {
  it('takes back all that is not reserved, of the budgets too, and can be repeated', () => {
    const lease = admitted(opened(100n, { budget: 70n }), 30n, { budgets: ['b'] });
    const [response, closed] = closeLease(lease, 1n);
    expect(response).toBe('closed');
    expect(closed?.closed).toBe(true);
    expect(closed?.amounts.recalled).toBe(70n);
    expect(closed?.budgets.get('b')?.recalled).toBe(40n);
    expect(closeLease(closed, 1n)).toEqual(['closed', closed]);
    expect(closeLease(lease, 2n)).toEqual(['gone', lease]);
  });

  it('takes nothing from a pot that is overdrawn', () => {
    const [, lease] = settleInModel(admitted(opened(100n), 10n), {
      epoch: 1n,
      reservation: 'g:1',
      actual: 130n,
    });
    expect(closeLease(lease, 1n)[1]?.amounts.recalled).toBe(0n);
  });
});

describe('what the book sets aside', () => {
  it('is all that may still be charged, and never less than nothing', () => {
    expect(heldAmount({ granted: 100n, recalled: 30n, settled: 20n })).toBe(50n);
    expect(heldAmount({ granted: 100n, recalled: 30n, settled: 90n })).toBe(0n);
  });

  it('covers whatever a pot admits, through any sequence of its moves', () => {
    const move = fc.record({
      kind: fc.constantFrom('admit', 'settle', 'recall', 'enlarge', 'close'),
      amount: fc.bigInt({ min: 0n, max: 60n }),
      request: fc.integer({ min: 1, max: 5 }),
      share: fc.integer({ min: 0, max: 100 }),
    });
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
        let lease: ModelLease | null = opened(100n);
        // The book's view, and what was charged: everything that was settled in the pot.
        let sums = { granted: 100n, recalled: 0n, settled: 0n };
        for (const { kind, amount, request, share } of moves) {
          const reservation = `g:${request}`;
          if (kind === 'admit') [, lease] = reserveFromModel(lease, requestOf(amount, { id: reservation }));
          else if (kind === 'settle') {
            const reserved: bigint = lease?.reservations.get(reservation)?.amount ?? 0n;
            const actual = (reserved * BigInt(share)) / 100n;
            const [response, next] = settleInModel(lease, { epoch: 1n, reservation, actual });
            if (response === 'settled') sums = { ...sums, settled: sums.settled + actual };
            lease = next;
          } else if (kind === 'recall') {
            const [response, next] = recallFromModel(lease, {
              epoch: 1n,
              known: sums.recalled,
              wanted: amount,
            });
            if (response !== 'gone') sums = { ...sums, recalled: clampRecalled(sums, response.recalled) };
            lease = next;
          } else if (kind === 'enlarge') {
            sums = { ...sums, granted: sums.granted + amount };
            [, lease] = enlargeLease(lease, grant(sums.granted));
          } else [, lease] = closeLease(lease, 1n);
          const { amounts } = lease ?? expect.fail('no pot');
          expect(heldAmount(sums)).toBeGreaterThanOrEqual(
            amounts.reserved + (remainingOf(amounts) > 0n ? remainingOf(amounts) : 0n),
          );
        }
      }),
    );
  });

  it('believes Valkey about recalls only as far as it can be true', () => {
    const lease = { granted: 100n, recalled: 30n, settled: 0n };
    expect(clampRecalled(lease, 50n)).toBe(50n);
    expect(clampRecalled(lease, 10n)).toBe(30n);
    expect(clampRecalled(lease, 5_000n)).toBe(100n);
  });

  it('stays below what Lua counts exactly', () => {
    const lease = { granted: maxPerLease - 10n, recalled: 0n, settled: 0n };
    expect(fitsInLease(lease, 10n)).toBe(true);
    expect(fitsInLease(lease, 11n)).toBe(false);
    expect(Number.isSafeInteger(Number(maxPerLease))).toBe(true);
    expect(maxPerLease).toBe(4_503_599_627_370_496n);
  });
});

describe('how much is lent', () => {
  const rules = { outageMs: 60_000, least: 100n, sharePercent: 50 };
  const size = (question: Partial<GrantSizeInput>) =>
    sizeGrant(
      {
        shortage: 0n,
        wanted: 0n,
        remaining: 0n,
        past: { used: 0n, inMs: 60_000 },
        available: 1_000_000n,
        paused: false,
        ...question,
      },
      rules,
    );

  it.each([
    ['the least, for a quiet pot', {}, 100n],
    ['what fills it up to the least', { remaining: 70n }, 30n],
    ['nothing to a full pot', { remaining: 500n }, 0n],
    ['what an outage would use at the recent burn', { past: { used: 5_000n, inMs: 10_000 } }, 30_000n],
    ['that less what is left', { past: { used: 5_000n, inMs: 10_000 }, remaining: 1_000n }, 29_000n],
    ['what all that wait need', { wanted: 700n, remaining: 100n }, 600n],
    ['the shortage, when that is more', { shortage: 40_000n, past: { used: 5_000n, inMs: 10_000 } }, 40_000n],
    ['at most half of what is available', { available: 150n }, 75n],
    ['more than half when a request needs it', { available: 150n, shortage: 149n }, 149n],
    ['all that there is', { available: 150n, shortage: 150n }, 150n],
    ['only the shortage after a recall', { shortage: 7n, paused: true }, 7n],
    [
      'nothing for later after a recall',
      { shortage: 7n, paused: true, past: { used: 5_000n, inMs: 10_000 } },
      7n,
    ],
    ['nothing ahead of need after a recall', { wanted: 700n, paused: true }, 0n],
    [
      'what those who wait want, also after a recall',
      { shortage: 7n, wanted: 700n, remaining: 100n, paused: true },
      600n,
    ],
    [
      'at most half of it, after a recall too',
      { shortage: 7n, wanted: 700n, available: 150n, paused: true },
      75n,
    ],
    ['nothing when nothing is available and nothing is needed', { available: 0n }, 0n],
    ['nothing below zero', { shortage: -5n, remaining: 500n }, 0n],
    ['nothing of a debt', { available: -50n }, 0n],
  ])('%s', (_, question, expected) => {
    expect(size(question)).toBe(expected);
  });

  it('is refused when the shortage cannot be met', () => {
    expect(size({ shortage: 151n, available: 150n })).toBeNull();
    expect(size({ shortage: 1n, available: -1n })).toBeNull();
    expect(size({ shortage: 151n, available: 150n, paused: true })).toBeNull();
  });

  it('reads the burn from the past, and little from a short one', () => {
    expect(expectedUsage({ used: 100n, inMs: 10_000 }, 60_000)).toBe(600n);
    expect(expectedUsage({ used: 100n, inMs: 1 }, 60_000)).toBe(6_000n);
    expect(expectedUsage({ used: 100n, inMs: 1_000.9 }, 60_000.9)).toBe(6_000n);
    expect(expectedUsage({ used: -100n, inMs: 10_000 }, 60_000)).toBe(0n);
    expect(expectedUsage({ used: 1n, inMs: 60_001 }, 60_000)).toBe(0n);
  });

  it('is asked for again at a third', () => {
    expect(lowWaterOf(300n)).toBe(100n);
    expect(lowWaterOf(-3n)).toBe(0n);
  });
});

describe('what a request for a lease leads to', () => {
  const lease = { epoch: 4n, generation: 2n, granted: 100n, recalled: 0n, settled: 0n };
  it.each([
    ['open', null, { generation: 2n, seen: null }],
    ['replace', lease, { generation: 3n, seen: { epoch: 4n, granted: 100n } }],
    ['keep', lease, { generation: 2n, seen: null }],
    ['keep', lease, { generation: 2n, seen: { epoch: 3n, granted: 100n } }],
    ['keep', lease, { generation: 2n, seen: { epoch: 4n, granted: 99n } }],
    ['enlarge', lease, { generation: 2n, seen: { epoch: 4n, granted: 100n } }],
  ] as const)('%s', (plan, present, now) => {
    expect(planLease(present, now)).toBe(plan);
  });
});

describe('closing a lease', () => {
  const ended = (seq: bigint, stream = 's') => ({ ended: { stream, seq } });
  it('waits until everyone who was told has ended and been passed', () => {
    const passed = new Map([['s', 10n]]);
    expect(canClose([], passed)).toBe(true);
    expect(canClose([ended(10n), ended(3n)], passed)).toBe(true);
    expect(canClose([ended(10n), ended(11n)], passed)).toBe(false);
    expect(canClose([ended(10n), { ended: null }], passed)).toBe(false);
    expect(canClose([ended(1n, 'another')], passed)).toBe(false);
    expect(isHolderProcessed(ended(1n), new Map())).toBe(false);
  });
});

describe('what a gateway is told when it cannot spend', () => {
  it.each([
    ['no money', 'INSUFFICIENT_BALANCE'],
    ['budget exceeded', 'BUDGET_EXCEEDED'],
    ['frozen', 'ACCOUNT_FROZEN'],
    ['busy', 'LEDGER_UNAVAILABLE'],
    [null, 'LEDGER_UNAVAILABLE'],
  ] as const)('%s is %s', (leaseReason, reason) => {
    expect(toAdmissionErrorReason(leaseReason)).toBe(reason);
  });
});

describe('times', () => {
  const times = { leaseMs: 100, longestRequestMs: 40, deadAfterMs: 101 };
  it('leave the longest request its time within the lease', () => {
    expect(admissionMs(times)).toBe(60);
    expect(() => checkLeaseTimes(times)).not.toThrow();
    expect(() => checkLeaseTimes({ ...times, longestRequestMs: 100 })).toThrow(
      'ends before its longest request',
    );
    expect(() => checkLeaseTimes({ ...times, longestRequestMs: 99 })).not.toThrow();
  });

  it('do not let a gateway count as dead while it may still spend', () => {
    expect(() => checkLeaseTimes({ ...times, deadAfterMs: 100 })).toThrow('may still use a lease of 100 ms');
  });
});
