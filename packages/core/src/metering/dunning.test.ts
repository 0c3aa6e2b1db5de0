import { nanoUsd, zeroUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  burnRateOf,
  balanceEventData,
  isBudgetExhausting,
  needsEqualizing,
  equalizedHoldTargets,
  dunningTransitionOf,
  dunningLevelAt,
} from './dunning.ts';
import { runwayMs } from '../ledger/index.ts';
import { at, HOUR, meterWith, MINUTE } from './meter.fixture.ts';
import { holdTarget } from './meter.ts';
import { defaultMeteringPolicy, dunningThresholds, type DunningLevel } from './policy.ts';

const burn = (perHour: bigint, cover: bigint) => ({
  burnPerHour: nanoUsd(perHour),
  cover: nanoUsd(cover),
  driesAt: null,
});

describe('burnRateOf', () => {
  it('adds rates and held money, and returns when the first hold ends', () => {
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
    expect(burnRateOf(meters, at(40))).toEqual({
      burnPerHour: 14_400_000n,
      cover: 100n - 40n + (1_000n - 40n - 950n) + (500n - 20n),
      driesAt: at(50),
    });
  });

  it('is zero for a wallet without running meters', () => {
    expect(burnRateOf([], at(0))).toEqual({ burnPerHour: 0n, cover: 0n, driesAt: null });
  });

  it('counts no time twice if the clock is behind', () => {
    const meter = meterWith({ held: nanoUsd(100n), postedMs: 50, posted: nanoUsd(50n) });
    expect(burnRateOf([meter], at(10)).cover).toBe(100n);
  });
});

describe('runwayMs', () => {
  it('divides held and available money by the burn rate', () => {
    expect(runwayMs(burn(3_600_000n, 1_000n), nanoUsd(500n))).toBe(1_500);
    expect(runwayMs(burn(3_600_000n, -200n), nanoUsd(500n))).toBe(300);
  });

  it('is zero if more is used than available, and null if nothing costs anything', () => {
    expect(runwayMs(burn(3_600_000n, -700n), nanoUsd(500n))).toBe(0);
    expect(runwayMs(burn(0n, 0n), nanoUsd(500n))).toBeNull();
  });
});

describe('dunningLevelAt', () => {
  it.each<[DunningLevel, number]>([
    ['day', 24 * HOUR],
    ['hour', HOUR],
    ['quarter', 15 * MINUTE],
    ['empty', 2 * MINUTE],
  ])('reaches %s exactly at its threshold', (step, limitMs) => {
    expect(dunningLevelAt('fine', limitMs)).toBe(step);
    expect(dunningLevelAt('fine', limitMs + 1)).not.toBe(step);
  });

  it.each<[DunningLevel, DunningLevel, number]>([
    ['day', 'fine', 27 * HOUR],
    ['hour', 'day', 75 * MINUTE],
    ['quarter', 'hour', 20 * MINUTE],
    ['empty', 'quarter', 10 * MINUTE],
  ])('leaves %s for %s only above its upper threshold', (step, above, limitMs) => {
    expect(dunningLevelAt(step, limitMs)).toBe(step);
    expect(dunningLevelAt(step, limitMs + 1)).toBe(above);
  });

  it('moves down or up several levels at once', () => {
    expect(dunningLevelAt('fine', 0)).toBe('empty');
    expect(dunningLevelAt('empty', 100 * HOUR)).toBe('fine');
    expect(dunningLevelAt('empty', 2 * HOUR)).toBe('day');
    expect(dunningLevelAt('empty', 26 * HOUR)).toBe('day');
    expect(dunningLevelAt('day', 20 * MINUTE)).toBe('hour');
  });

  it('is fine if nothing costs anything', () => {
    for (const { step } of dunningThresholds) expect(dunningLevelAt(step, null)).toBe('fine');
  });

  it('is stable: the same runway causes no further transition', () => {
    const steps = fc.constantFrom<DunningLevel>('fine', 'day', 'hour', 'quarter', 'empty');
    fc.assert(
      fc.property(steps, fc.nat(30 * HOUR), (from, runway) => {
        expect(dunningTransitionOf(dunningLevelAt(from, runway), runway)).toBeNull();
      }),
    );
  });
});

describe('dunningTransitionOf', () => {
  it('announces each level on the way down, and the floor at the end', () => {
    expect(dunningTransitionOf('fine', 24 * HOUR)).toEqual({
      step: 'day',
      announce: 'balance.low',
      recovered: false,
    });
    expect(dunningTransitionOf('day', HOUR)).toEqual({
      step: 'hour',
      announce: 'balance.low',
      recovered: false,
    });
    expect(dunningTransitionOf('hour', 15 * MINUTE)).toEqual({
      step: 'quarter',
      announce: 'balance.low',
      recovered: false,
    });
    expect(dunningTransitionOf('quarter', 0)).toEqual({
      step: 'empty',
      announce: 'balance.floor',
      recovered: false,
    });
    expect(dunningTransitionOf('fine', 0)).toEqual({
      step: 'empty',
      announce: 'balance.floor',
      recovered: false,
    });
  });

  it('announces nothing on the way up, and reports the recovery from empty', () => {
    expect(dunningTransitionOf('empty', 12 * MINUTE)).toEqual({
      step: 'quarter',
      announce: null,
      recovered: true,
    });
    expect(dunningTransitionOf('empty', null)).toEqual({ step: 'fine', announce: null, recovered: true });
    expect(dunningTransitionOf('hour', 3 * HOUR)).toEqual({ step: 'day', announce: null, recovered: false });
  });

  it('is null while the level stays the same', () => {
    expect(dunningTransitionOf('fine', 25 * HOUR)).toBeNull();
    expect(dunningTransitionOf('empty', 0)).toBeNull();
  });
});

describe('balanceEventData', () => {
  const balance = { balance: nanoUsd(1_500n), available: nanoUsd(700n) };
  it('has whole seconds of runway', () => {
    expect(balanceEventData(balance, burn(3_980_000_000n, 0n), 61_999)).toEqual({
      balanceNanoUsd: '1500',
      availableNanoUsd: '700',
      burnRateUsdPerHour: 3.98,
      runwaySeconds: 61,
    });
    expect(balanceEventData(balance, burn(0n, 0n), null).runwaySeconds).toBeNull();
  });
});

describe('wallet with a hold that ends soon', () => {
  const { stopAheadMs, retryMs, marginMs, postEveryMs } = defaultMeteringPolicy;
  const dries = (ms: number) => ({ driesAt: at(ms) });

  it('is exhausted by a budget if only the time to stop is left and the wallet is not empty', () => {
    const enough = stopAheadMs + retryMs + 1;
    expect(isBudgetExhausting(dries(stopAheadMs), enough, at(0), defaultMeteringPolicy)).toBe(true);
    expect(isBudgetExhausting(dries(stopAheadMs + 1), enough, at(0), defaultMeteringPolicy)).toBe(false);
    expect(isBudgetExhausting(dries(stopAheadMs), enough - 1, at(0), defaultMeteringPolicy)).toBe(false);
    expect(isBudgetExhausting({ driesAt: null }, enough, at(0), defaultMeteringPolicy)).toBe(false);
    expect(isBudgetExhausting(dries(0), null, at(0), defaultMeteringPolicy)).toBe(false);
  });

  it('needs equalizing if other meters are paid for longer', () => {
    const runway = 10 * MINUTE;
    expect(needsEqualizing(dries(runway - retryMs - 1), runway, at(0), defaultMeteringPolicy)).toBe(true);
    expect(needsEqualizing(dries(runway - retryMs), runway, at(0), defaultMeteringPolicy)).toBe(false);
    const long = postEveryMs + marginMs - 1;
    expect(needsEqualizing(dries(marginMs - retryMs - 1), long, at(0), defaultMeteringPolicy)).toBe(true);
    expect(needsEqualizing(dries(marginMs - retryMs), long, at(0), defaultMeteringPolicy)).toBe(false);
    expect(needsEqualizing(dries(0), long + 1, at(0), defaultMeteringPolicy)).toBe(false);
    expect(needsEqualizing({ driesAt: null }, runway, at(0), defaultMeteringPolicy)).toBe(false);
    expect(needsEqualizing(dries(0), null, at(0), defaultMeteringPolicy)).toBe(false);
  });
});

describe('equalizedHoldTargets', () => {
  it('gives all meters the same time from held and available money', () => {
    const rich = meterWith({ held: nanoUsd(600_000n) });
    const poor = meterWith({ ratePerHour: nanoUsd(7_200_000n) });
    const targets = equalizedHoldTargets([rich, poor], nanoUsd(300_000n), at(0), defaultMeteringPolicy);
    expect([...targets.values()]).toEqual([300_000n, 600_000n]);
  });

  it('reserves the cost of retention', () => {
    const retained = meterWith({ held: nanoUsd(1_000n), retentionMs: 400 });
    const other = meterWith({ held: nanoUsd(0n) });
    const targets = equalizedHoldTargets([retained, other], zeroUsd, at(0), defaultMeteringPolicy);
    expect([...targets.values()]).toEqual([700n, 300n]);
  });

  it('reserves retention at its own rate', () => {
    const retained = meterWith({
      held: nanoUsd(1_000n),
      retentionMs: 4_000,
      retentionRatePerHour: nanoUsd(360_000n),
    });
    const other = meterWith({ held: nanoUsd(0n) });
    const targets = equalizedHoldTargets([retained, other], zeroUsd, at(0), defaultMeteringPolicy);
    expect([...targets.values()]).toEqual([700n, 300n]);
    expect(burnRateOf([retained], at(50)).cover).toBe(550n);
  });

  it('never exceeds the full hold target', () => {
    const meter = meterWith();
    const targets = equalizedHoldTargets([meter], nanoUsd(10n ** 15n), at(0), defaultMeteringPolicy);
    expect(targets.get(meter.id)).toBe(holdTarget(meter, 0, at(0), defaultMeteringPolicy));
  });

  it('subtracts unposted cost, down to zero', () => {
    const meter = meterWith({ held: nanoUsd(500n) });
    expect(equalizedHoldTargets([meter], zeroUsd, at(200), defaultMeteringPolicy).get(meter.id)).toBe(300n);
    expect(equalizedHoldTargets([meter], zeroUsd, at(900), defaultMeteringPolicy).get(meter.id)).toBe(0n);
    const ahead = meterWith({ held: nanoUsd(500n), postedMs: 900, posted: nanoUsd(900n) });
    expect(equalizedHoldTargets([ahead], zeroUsd, at(200), defaultMeteringPolicy).get(ahead.id)).toBe(500n);
  });

  it('never exceeds the money of the wallet', () => {
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
        const { cover } = burnRateOf(meters, at(ms));
        const targets = [
          ...equalizedHoldTargets(meters, nanoUsd(available), at(ms), defaultMeteringPolicy).values(),
        ];
        const total = targets.reduce((sum, target) => sum + target, 0n);
        const there = available + cover;
        // Each target is rounded separately to match its posting: up to one nano-USD each.
        expect(total).toBeLessThanOrEqual((there > 0n ? there : 0n) + BigInt(meters.length));
      }),
    );
  });
});
