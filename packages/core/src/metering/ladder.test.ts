import { nanoUsd, zeroUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { burnOf, describeWallet, isDry, isUneven, levelTargets, moveOf, stepAt } from './ladder.ts';
import { runwayMs } from '../ledger/index.ts';
import { at, HOUR, meterWith, MINUTE } from './meter.fixture.ts';
import { holdTarget } from './metering.ts';
import { defaultPolicy, ladderRungs, type LadderStep } from './policy.ts';

const burn = (perHour: bigint, cover: bigint) => ({
  burnPerHour: nanoUsd(perHour),
  cover: nanoUsd(cover),
  driesAt: null,
});

describe('the burn of a wallet', () => {
  it('adds rates and what the holds still have, and names the first to run dry', () => {
    const meters = [
      meterWith({ held: nanoUsd(100n), coveredUntil: at(100) }),
      meterWith({ held: nanoUsd(1_000n), coveredUntil: at(1_000), retentionMs: 950 }),
      meterWith({
        ratePerHour: nanoUsd(7_200_000n),
        postedMs: 30,
        posted: nanoUsd(60n),
        held: nanoUsd(500n),
      }),
    ];
    expect(burnOf(meters, at(40))).toEqual({
      burnPerHour: 14_400_000n,
      cover: 100n - 40n + (1_000n - 40n - 950n) + (500n - 20n),
      driesAt: at(50),
    });
  });

  it('of a wallet in which nothing runs is nothing', () => {
    expect(burnOf([], at(0))).toEqual({ burnPerHour: 0n, cover: 0n, driesAt: null });
  });

  it('counts nothing twice for a clock that is behind', () => {
    const meter = meterWith({ held: nanoUsd(100n), postedMs: 50, posted: nanoUsd(50n) });
    expect(burnOf([meter], at(10)).cover).toBe(100n);
  });
});

describe('the runway', () => {
  it('is what is held and what is available, at the present burn', () => {
    expect(runwayMs(burn(3_600_000n, 1_000n), nanoUsd(500n))).toBe(1_500);
    expect(runwayMs(burn(3_600_000n, -200n), nanoUsd(500n))).toBe(300);
  });

  it('is none when more is used than there is, and without end when nothing costs', () => {
    expect(runwayMs(burn(3_600_000n, -700n), nanoUsd(500n))).toBe(0);
    expect(runwayMs(burn(0n, 0n), nanoUsd(500n))).toBeNull();
  });
});

describe('the step of a wallet', () => {
  it.each<[LadderStep, number]>([
    ['day', 24 * HOUR],
    ['hour', HOUR],
    ['quarter', 15 * MINUTE],
    ['empty', 2 * MINUTE],
  ])('%s is reached at its limit and not before', (step, limitMs) => {
    expect(stepAt('fine', limitMs)).toBe(step);
    expect(stepAt('fine', limitMs + 1)).not.toBe(step);
  });

  it.each<[LadderStep, LadderStep, number]>([
    ['day', 'fine', 27 * HOUR],
    ['hour', 'day', 75 * MINUTE],
    ['quarter', 'hour', 20 * MINUTE],
    ['empty', 'quarter', 10 * MINUTE],
  ])('%s is left for %s only with more than its limit', (step, above, limitMs) => {
    expect(stepAt(step, limitMs)).toBe(step);
    expect(stepAt(step, limitMs + 1)).toBe(above);
  });

  it('falls over several rungs at once, and climbs over several', () => {
    expect(stepAt('fine', 0)).toBe('empty');
    expect(stepAt('empty', 100 * HOUR)).toBe('fine');
    expect(stepAt('empty', 2 * HOUR)).toBe('day');
    expect(stepAt('empty', 26 * HOUR)).toBe('day');
    expect(stepAt('day', 20 * MINUTE)).toBe('hour');
  });

  it('is fine where nothing costs anything', () => {
    for (const { step } of ladderRungs) expect(stepAt(step, null)).toBe('fine');
  });

  it('is settled: looking again with the same runway moves nothing', () => {
    const steps = fc.constantFrom<LadderStep>('fine', 'day', 'hour', 'quarter', 'empty');
    fc.assert(
      fc.property(steps, fc.nat(30 * HOUR), (from, runway) => {
        expect(moveOf(stepAt(from, runway), runway)).toBeNull();
      }),
    );
  });
});

describe('a move on the ladder', () => {
  it('is announced on the way down, with the floor at the end', () => {
    expect(moveOf('fine', 24 * HOUR)).toEqual({ step: 'day', announce: 'balance.low', recovered: false });
    expect(moveOf('day', HOUR)).toEqual({ step: 'hour', announce: 'balance.low', recovered: false });
    expect(moveOf('hour', 15 * MINUTE)).toEqual({
      step: 'quarter',
      announce: 'balance.low',
      recovered: false,
    });
    expect(moveOf('quarter', 0)).toEqual({ step: 'empty', announce: 'balance.floor', recovered: false });
    expect(moveOf('fine', 0)).toEqual({ step: 'empty', announce: 'balance.floor', recovered: false });
  });

  it('is not announced on the way up, and tells when work need not be stopped any more', () => {
    expect(moveOf('empty', 12 * MINUTE)).toEqual({ step: 'quarter', announce: null, recovered: true });
    expect(moveOf('empty', null)).toEqual({ step: 'fine', announce: null, recovered: true });
    expect(moveOf('hour', 3 * HOUR)).toEqual({ step: 'day', announce: null, recovered: false });
  });

  it('is none while the wallet stays where it is', () => {
    expect(moveOf('fine', 25 * HOUR)).toBeNull();
    expect(moveOf('empty', 0)).toBeNull();
  });
});

describe('what a tenant is told', () => {
  const balance = { balance: nanoUsd(1_500n), available: nanoUsd(700n) };
  it('has whole seconds of runway', () => {
    expect(describeWallet(balance, burn(3_980_000_000n, 0n), 61_999)).toEqual({
      balanceNanoUsd: '1500',
      availableNanoUsd: '700',
      burnRateUsdPerHour: 3.98,
      runwaySeconds: 61,
    });
    expect(describeWallet(balance, burn(0n, 0n), null).runwaySeconds).toBeNull();
  });
});

describe('a wallet with something that runs dry', () => {
  const { stopAheadMs, retryMs, marginMs, postEveryMs } = defaultPolicy;
  const dries = (ms: number) => ({ driesAt: at(ms) });

  it('is dry when only the time to stop is left, and the wallet is not empty anyway', () => {
    const enough = stopAheadMs + retryMs + 1;
    expect(isDry(dries(stopAheadMs), enough, at(0), defaultPolicy)).toBe(true);
    expect(isDry(dries(stopAheadMs + 1), enough, at(0), defaultPolicy)).toBe(false);
    expect(isDry(dries(stopAheadMs), enough - 1, at(0), defaultPolicy)).toBe(false);
    expect(isDry({ driesAt: null }, enough, at(0), defaultPolicy)).toBe(false);
    expect(isDry(dries(0), null, at(0), defaultPolicy)).toBe(false);
  });

  it('is uneven when others have more time in hand', () => {
    const runway = 10 * MINUTE;
    expect(isUneven(dries(runway - retryMs - 1), runway, at(0), defaultPolicy)).toBe(true);
    expect(isUneven(dries(runway - retryMs), runway, at(0), defaultPolicy)).toBe(false);
    const long = postEveryMs + marginMs - 1;
    expect(isUneven(dries(marginMs - retryMs - 1), long, at(0), defaultPolicy)).toBe(true);
    expect(isUneven(dries(marginMs - retryMs), long, at(0), defaultPolicy)).toBe(false);
    expect(isUneven(dries(0), long + 1, at(0), defaultPolicy)).toBe(false);
    expect(isUneven({ driesAt: null }, runway, at(0), defaultPolicy)).toBe(false);
    expect(isUneven(dries(0), null, at(0), defaultPolicy)).toBe(false);
  });
});

describe('levelling', () => {
  it('gives everything the same time, out of what is held and what is available', () => {
    const rich = meterWith({ held: nanoUsd(600_000n) });
    const poor = meterWith({ ratePerHour: nanoUsd(7_200_000n) });
    const targets = levelTargets([rich, poor], nanoUsd(300_000n), at(0), defaultPolicy);
    expect([...targets.values()]).toEqual([300_000n, 600_000n]);
  });

  it('keeps back what the retention of data needs', () => {
    const kept = meterWith({ held: nanoUsd(1_000n), retentionMs: 400 });
    const other = meterWith({ held: nanoUsd(0n) });
    const targets = levelTargets([kept, other], zeroUsd, at(0), defaultPolicy);
    expect([...targets.values()]).toEqual([700n, 300n]);
  });

  it('keeps it back at what keeping costs', () => {
    const kept = meterWith({
      held: nanoUsd(1_000n),
      retentionMs: 4_000,
      keptRatePerHour: nanoUsd(360_000n),
    });
    const other = meterWith({ held: nanoUsd(0n) });
    const targets = levelTargets([kept, other], zeroUsd, at(0), defaultPolicy);
    expect([...targets.values()]).toEqual([700n, 300n]);
    expect(burnOf([kept], at(50)).cover).toBe(550n);
  });

  it('does not hold more than a full hold', () => {
    const meter = meterWith();
    const targets = levelTargets([meter], nanoUsd(10n ** 15n), at(0), defaultPolicy);
    expect(targets.get(meter.id)).toBe(holdTarget(meter, 0, at(0), defaultPolicy));
  });

  it('counts what has run up, and asks for nothing when nothing is left', () => {
    const meter = meterWith({ held: nanoUsd(500n) });
    expect(levelTargets([meter], zeroUsd, at(200), defaultPolicy).get(meter.id)).toBe(300n);
    expect(levelTargets([meter], zeroUsd, at(900), defaultPolicy).get(meter.id)).toBe(0n);
    const ahead = meterWith({ held: nanoUsd(500n), postedMs: 900, posted: nanoUsd(900n) });
    expect(levelTargets([ahead], zeroUsd, at(200), defaultPolicy).get(ahead.id)).toBe(500n);
  });

  it('never asks for more than there is', () => {
    const amounts = fc.bigInt({ min: 0n, max: 10_000_000_000n });
    const some = fc.array(fc.tuple(fc.bigInt({ min: 1n, max: 10_000_000_000n }), amounts), {
      minLength: 1,
      maxLength: 8,
    });
    fc.assert(
      fc.property(some, amounts, fc.nat(HOUR), (rows, available, ms) => {
        const meters = rows.map(([rate, held]) =>
          meterWith({ ratePerHour: nanoUsd(rate), held: nanoUsd(held) }),
        );
        const { cover } = burnOf(meters, at(ms));
        const asked = [...levelTargets(meters, nanoUsd(available), at(ms), defaultPolicy).values()];
        const total = asked.reduce((sum, target) => sum + target, 0n);
        const there = available + cover;
        // Each target is rounded on its own, so that it pays exactly what will be posted: one nano-USD each.
        expect(total).toBeLessThanOrEqual((there > 0n ? there : 0n) + BigInt(meters.length));
      }),
    );
  });
});
