import { testIds } from '@millrace/testing';
import { retryDelayMs } from '@millrace/platform/loops';
import { nanoUsd, zeroUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costAt, type Meter } from '../../metering/index.ts';
import { spendingLimitEnd, volumeDueAction, nextVolumeCheckAt } from './due-actions.ts';
import { RETENTION_MS } from '../../metering/index.ts';
import { defaultVolumePolicy as policy } from '../model/policy.ts';
import type { Volume } from '../model/volume.ts';

const startMs = Date.UTC(2026, 0, 1);
const at = (ms: number): Date => new Date(startMs + ms);
const HOUR_MS = 3_600_000;

/** The fields of a meter that determine its cost. */
function meter(fields: Partial<Meter>): Meter {
  return {
    ratePerHour: nanoUsd(1n),
    runningSince: at(0),
    elapsedBeforeMs: 0,
    termEndsAt: null,
    state: 'open',
    posted: zeroUsd,
    postedMs: 0,
    restOfTerm: zeroUsd,
    ...fields,
  } as Meter;
}

function volume(fields: Partial<Volume> = {}): Volume {
  return {
    id: testIds.next('vol'),
    phase: 'live',
    status: 'active',
    createdAt: at(0),
    startedAt: at(0),
    purgeAt: null,
    growth: null,
    restore: null,
    maxNanoUsd: null,
    ...fields,
  } as Volume;
}

describe('spendingLimitEnd', () => {
  it('ends at the last millisecond within the limit, for any rates', () => {
    const rates = fc.array(fc.bigInt(1n, 10_000_000_000n), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(rates, fc.bigInt(1n, 1_000_000_000_000n), fc.nat(10_000_000), (perHour, cap, ranMs) => {
        const open = perHour.map((rate) => meter({ ratePerHour: nanoUsd(rate) }));
        const closed = meter({
          ratePerHour: nanoUsd(7n),
          runningSince: null,
          elapsedBeforeMs: ranMs,
          state: 'closed',
        });
        const meters = [...open, closed];
        const end = spendingLimitEnd(volume({ maxNanoUsd: nanoUsd(cap) }), meters);
        if (end === null) return expect.fail('The volume has a limit.');
        const costBy = (when: Date): bigint => meters.reduce((sum, one) => sum + costAt(one, when), 0n);
        if (costBy(at(0)) <= cap) {
          expect(costBy(end.endsAt)).toBeLessThanOrEqual(cap);
          if (end.endsAt.getTime() < Date.UTC(9999, 0, 1)) {
            expect(costBy(new Date(end.endsAt.getTime() + 1))).toBeGreaterThan(cap);
          }
        }
        expect(end.endsAt.getTime() - end.leaveAt.getTime()).toBeLessThanOrEqual(RETENTION_MS);
        expect(end.leaveAt.getTime()).toBeGreaterThanOrEqual(startMs);
      }),
    );
  });

  it('returns null if no running meter can reach the limit', () => {
    expect(spendingLimitEnd(volume(), [meter({})])).toBeNull();
    const limited = volume({ maxNanoUsd: nanoUsd(5n) });
    expect(spendingLimitEnd(limited, [])).toBeNull();
    expect(spendingLimitEnd(limited, [meter({ termEndsAt: at(HOUR_MS) })])).toBeNull();
  });
});

describe('volumeDueAction, nextVolumeCheckAt and retryDelayMs', () => {
  it('return the first due action in each phase', () => {
    const cap = { leaveAt: at(10), endsAt: at(20) };
    expect(volumeDueAction(volume(), cap, at(9), policy)).toBeNull();
    expect(volumeDueAction(volume(), cap, at(10), policy)).toEqual({
      what: 'leave',
      purgeAt: at(20),
      lateMs: 0,
    });
    expect(volumeDueAction(volume(), cap, at(15), policy)).toEqual({
      what: 'leave',
      purgeAt: at(20),
      lateMs: 5,
    });
    expect(volumeDueAction(volume(), cap, at(99), policy)).toEqual({
      what: 'leave',
      purgeAt: at(20),
      lateMs: 89,
    });
    const making = volume({ phase: 'provisioning', startedAt: null });
    expect(volumeDueAction(making, null, at(policy.provisionMs - 1), policy)).toBeNull();
    expect(volumeDueAction(making, null, at(policy.provisionMs), policy)).toEqual({
      what: 'give up making it',
    });
    const frozen = volume({ phase: 'frozen', purgeAt: at(50) });
    expect(volumeDueAction(frozen, null, at(49), policy)).toEqual({ what: 'pay again' });
    expect(volumeDueAction(frozen, null, at(50), policy)).toEqual({ what: 'pay again or purge', at: at(50) });
    const leaving = volume({ phase: 'leaving', purgeAt: at(50) });
    expect(volumeDueAction(leaving, null, at(49), policy)).toBeNull();
    expect(volumeDueAction(leaving, null, at(50), policy)).toEqual({ what: 'purge', at: at(50) });
    for (const phase of ['purging', 'purged'] as const) {
      expect(volumeDueAction(volume({ phase, purgeAt: at(0) }), cap, at(99), policy)).toBeNull();
    }
  });

  it('schedule the next check at the earliest due time, never in the past', () => {
    const leaving = volume({ phase: 'leaving', purgeAt: at(5_000) });
    expect(nextVolumeCheckAt(leaving, null, [], at(1_000), policy)).toEqual(at(5_000));
    expect(nextVolumeCheckAt(leaving, null, [], at(9_000), policy)).toEqual(at(9_000));
    const cap = { leaveAt: at(7_000), endsAt: at(8_000) };
    expect(nextVolumeCheckAt(volume(), cap, [], at(0), policy)).toEqual(at(7_000));
    const waiting = [{ status: 'creating', makeBy: at(3_000) }] as const;
    expect(nextVolumeCheckAt(volume(), cap, waiting, at(0), policy)).toEqual(at(3_000));
    expect(nextVolumeCheckAt(volume(), null, [], at(0), policy)).toEqual(at(policy.checkUpMs));
  });

  it('double the wait after each failure, up to a limit', () => {
    expect([0, 1, 2, 3, 100].map((tries) => retryDelayMs(policy, tries + 1))).toEqual([
      1_000, 2_000, 4_000, 8_000, 60_000,
    ]);
  });
});
