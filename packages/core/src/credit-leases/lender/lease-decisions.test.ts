import {
  closeLease,
  enlargeLease,
  openLease,
  recallFromModel,
  remainingOf,
  reserveFromModel,
  settleInModel,
  type ModelLease,
} from '@millrace/credit-leases/lease-model';
import { maxPerLease } from '@millrace/credit-leases/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  admissionMs,
  canClose,
  checkLeaseTimes,
  clampRecalled,
  expectedUsage,
  fitsInLease,
  heldAmount,
  isHolderProcessed,
  lowWaterOf,
  planLease,
  sizeGrant,
  type GrantSizeInput,
} from './lease-decisions.ts';

const grantOf = (granted: bigint) => ({
  ...{ leaseId: 'lease-1', epoch: 1n, granted, budgets: new Map<string, bigint>(), admitUntilMs: 1_000 },
});

const requestOf = (reservation: string, amount: bigint) => ({
  ...{ epoch: 1n, reservation, amount, least: amount, budgets: [], nowMs: 0 },
});

describe('heldAmount', () => {
  it('is everything that may still be charged, and never negative', () => {
    expect(heldAmount({ granted: 100n, recalled: 30n, settled: 20n })).toBe(50n);
    expect(heldAmount({ granted: 100n, recalled: 30n, settled: 90n })).toBe(0n);
  });

  it('covers everything that a lease admits, in any sequence of steps', () => {
    const move = fc.record({
      kind: fc.constantFrom('admit', 'settle', 'recall', 'enlarge', 'close'),
      amount: fc.bigInt({ min: 0n, max: 60n }),
      request: fc.integer({ min: 1, max: 5 }),
      share: fc.integer({ min: 0, max: 100 }),
    });
    fc.assert(
      fc.property(fc.array(move, { maxLength: 60 }), (moves) => {
        let lease: ModelLease | null = openLease(null, grantOf(100n))[1];
        // The ledger's amounts; every settlement in the model is charged.
        let sums = { granted: 100n, recalled: 0n, settled: 0n };
        for (const { kind, amount, request, share } of moves) {
          const reservation = `g:${request}`;
          if (kind === 'admit') [, lease] = reserveFromModel(lease, requestOf(reservation, amount));
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
            [, lease] = enlargeLease(lease, grantOf(sums.granted));
          } else [, lease] = closeLease(lease, 1n);
          const { amounts } = lease ?? expect.fail('no pot');
          expect(heldAmount(sums)).toBeGreaterThanOrEqual(
            amounts.reserved + (remainingOf(amounts) > 0n ? remainingOf(amounts) : 0n),
          );
        }
      }),
    );
  });

  it("relies on clampRecalled, which limits Valkey's recalled amount to possible values", () => {
    const lease = { granted: 100n, recalled: 30n, settled: 0n };
    expect(clampRecalled(lease, 50n)).toBe(50n);
    expect(clampRecalled(lease, 10n)).toBe(30n);
    expect(clampRecalled(lease, 5_000n)).toBe(100n);
  });

  it('stays below what Lua counts exactly, by fitsInLease', () => {
    const lease = { granted: maxPerLease - 10n, recalled: 0n, settled: 0n };
    expect(fitsInLease(lease, 10n)).toBe(true);
    expect(fitsInLease(lease, 11n)).toBe(false);
    expect(Number.isSafeInteger(Number(maxPerLease))).toBe(true);
    expect(maxPerLease).toBe(4_503_599_627_370_496n);
  });
});

describe('sizeGrant', () => {
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
    ['grants the minimum to an idle lease', {}, 100n],
    ['fills a lease up to the minimum', { remaining: 70n }, 30n],
    ['grants nothing to a full lease', { remaining: 500n }, 0n],
    ['grants the usage of an outage at the recent rate', { past: { used: 5_000n, inMs: 10_000 } }, 30_000n],
    [
      'subtracts the remaining credit from the usage of an outage',
      { past: { used: 5_000n, inMs: 10_000 }, remaining: 1_000n },
      29_000n,
    ],
    ['grants the amount that all waiting requests need', { wanted: 700n, remaining: 100n }, 600n],
    [
      'grants the shortage if it is larger',
      { shortage: 40_000n, past: { used: 5_000n, inMs: 10_000 } },
      40_000n,
    ],
    ['grants at most half of the available balance', { available: 150n }, 75n],
    ['grants more than half if a request needs it', { available: 150n, shortage: 149n }, 149n],
    ['grants the whole balance if a request needs it', { available: 150n, shortage: 150n }, 150n],
    ['grants only the shortage after a recall', { shortage: 7n, paused: true }, 7n],
    [
      'ignores the recent rate after a recall',
      { shortage: 7n, paused: true, past: { used: 5_000n, inMs: 10_000 } },
      7n,
    ],
    ['grants nothing in advance after a recall', { wanted: 700n, paused: true }, 0n],
    [
      'grants the amount of waiting requests, also after a recall',
      { shortage: 7n, wanted: 700n, remaining: 100n, paused: true },
      600n,
    ],
    [
      'grants at most half of the balance, also after a recall',
      { shortage: 7n, wanted: 700n, available: 150n, paused: true },
      75n,
    ],
    ['grants nothing if nothing is available or needed', { available: 0n }, 0n],
    ['never returns a negative amount', { shortage: -5n, remaining: 500n }, 0n],
    ['grants nothing from a negative balance', { available: -50n }, 0n],
  ])('%s', (_, question, expected) => {
    expect(size(question)).toBe(expected);
  });

  it('returns null if the shortage is not covered', () => {
    expect(size({ shortage: 151n, available: 150n })).toBeNull();
    expect(size({ shortage: 1n, available: -1n })).toBeNull();
    expect(size({ shortage: 151n, available: 150n, paused: true })).toBeNull();
  });

  it('uses the recent rate, and at least a second of it', () => {
    expect(expectedUsage({ used: 100n, inMs: 10_000 }, 60_000)).toBe(600n);
    expect(expectedUsage({ used: 100n, inMs: 1 }, 60_000)).toBe(6_000n);
    expect(expectedUsage({ used: 100n, inMs: 1_000.9 }, 60_000.9)).toBe(6_000n);
    expect(expectedUsage({ used: -100n, inMs: 10_000 }, 60_000)).toBe(0n);
    expect(expectedUsage({ used: 1n, inMs: 60_001 }, 60_000)).toBe(0n);
  });

  it('has a low-water mark of a third', () => {
    expect(lowWaterOf(300n)).toBe(100n);
    expect(lowWaterOf(-3n)).toBe(0n);
  });
});

describe('planLease', () => {
  const lease = { epoch: 4n, generation: 2n, granted: 100n, recalled: 0n, settled: 0n };
  it.each([
    ['open', null, { generation: 2n, seen: null }],
    ['replace', lease, { generation: 3n, seen: { epoch: 4n, granted: 100n } }],
    ['keep', lease, { generation: 2n, seen: null }],
    ['keep', lease, { generation: 2n, seen: { epoch: 3n, granted: 100n } }],
    ['keep', lease, { generation: 2n, seen: { epoch: 4n, granted: 99n } }],
    ['enlarge', lease, { generation: 2n, seen: { epoch: 4n, granted: 100n } }],
  ] as const)('returns %s in case %#', (plan, present, now) => {
    expect(planLease(present, now)).toBe(plan);
  });
});

describe('canClose', () => {
  const ended = (seq: bigint, stream = 's') => ({ ended: { stream, seq } });
  it('is true after all holders have ended before the watermark', () => {
    const passed = new Map([['s', 10n]]);
    expect(canClose([], passed)).toBe(true);
    expect(canClose([ended(10n), ended(3n)], passed)).toBe(true);
    expect(canClose([ended(10n), ended(11n)], passed)).toBe(false);
    expect(canClose([ended(10n), { ended: null }], passed)).toBe(false);
    expect(canClose([ended(1n, 'another')], passed)).toBe(false);
    expect(isHolderProcessed(ended(1n), new Map())).toBe(false);
  });
});

describe('checkLeaseTimes', () => {
  const times = { leaseMs: 100, longestRequestMs: 40, deadAfterMs: 101 };
  it('leaves the longest request its time within the lease', () => {
    expect(admissionMs(times)).toBe(60);
    expect(() => checkLeaseTimes(times)).not.toThrow();
    expect(() => checkLeaseTimes({ ...times, longestRequestMs: 100 })).toThrow(
      'must be longer than the longest request',
    );
    expect(() => checkLeaseTimes({ ...times, longestRequestMs: 99 })).not.toThrow();
  });

  it('rejects a time after which a gateway is declared dead while it may still spend', () => {
    expect(() => checkLeaseTimes({ ...times, deadAfterMs: 100 })).toThrow(
      'must be greater than leaseMs (100)',
    );
  });
});
