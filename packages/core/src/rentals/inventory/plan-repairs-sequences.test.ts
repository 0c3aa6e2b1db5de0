import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  defaultInventoryPolicy as policy,
  planRepairs,
  repairMetricKind,
  lastHealthyAt,
  repairKinds,
  type ComparedRental,
  type Repair,
  type ObservedState,
} from './plan-repairs.ts';
import { at } from '../view.fixture.ts';
import {
  S,
  MINUTE,
  NOW,
  rentalWith,
  unknownSince,
  subject,
  context,
  unanswered,
  troubled,
} from './plan-repairs.fixture.ts';

/** The rental after its repairs and the tasks that they request. */
function after(rental: ComparedRental, repairs: readonly Repair[], now: Date): ComparedRental | null {
  let next: ComparedRental = rental;
  for (const repair of repairs) {
    switch (repair.do) {
      case 'note':
        next = { ...next, unhealthySince: repair.since };
        break;
      case 'clear':
        next = { ...next, unhealthySince: null };
        break;
      case 'unknown':
        next = { ...next, status: 'Unknown', statusSince: now, changedAt: now, unhealthySince: repair.since };
        break;
      case 'back':
        next = { ...next, status: 'Running', statusSince: now, changedAt: now, unhealthySince: null };
        break;
      case 'pause':
        next = { ...next, billingPausedAt: repair.at };
        break;
      case 'resume':
        next = { ...next, billingPausedAt: null };
        break;
      case 'fail':
        return null;
      case 'power':
        next = { ...next, power: repair.to };
        break;
      case 'start':
        next = { ...next, power: 'on', changedAt: now };
        break;
      case 'stop':
        next = { ...next, power: 'off', changedAt: now };
    }
  }
  return next;
}

const anyState = fc.constantFrom<ObservedState>('on', 'off', 'changing', 'broken', 'unheard');

const stretch = fc.record({
  observed: anyState,
  looks: fc.integer({ min: 1, max: 40 }),
  /** Time without comparisons before it. */
  gapMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 40 * MINUTE })),
  isAnswered: fc.boolean(),
});

describe('planRepairs over any sequence of observations', () => {
  it('ignores unobserved time, keeps one last healthy time, and restores the rental in the end', () => {
    fc.assert(
      fc.property(fc.array(stretch, { maxLength: 12 }), (stretches) => {
        let nowMs = 0;
        let rental: ComparedRental | null = rentalWith();
        let watchingSince = at(0);
        let wholeAt: Date | null = null;
        const step = (observed: ObservedState, isAnswered: boolean): void => {
          nowMs += 10 * S;
          if (rental === null) return;
          const answered = isAnswered || observed !== 'unheard';
          const around = context({ now: at(nowMs), answered, isSilent: true, watchingSince, wholeAt });
          const before: ComparedRental = rental;
          const since = lastHealthyAt(before, around);
          const repairs = planRepairs(subject(before, observed), around);
          for (const repair of repairs) {
            if (repair.do === 'unknown' || repair.do === 'fail') {
              expect(at(nowMs).getTime() - watchingSince.getTime()).toBeGreaterThanOrEqual(
                policy.unknownAfterMs,
              );
              expect(at(nowMs).getTime() - since.getTime()).toBeGreaterThanOrEqual(policy.unknownAfterMs);
            }
            if (repair.do === 'fail') {
              expect([before.status, repair.at]).toEqual(['Unknown', since]);
              expect(at(nowMs).getTime() - watchingSince.getTime()).toBeGreaterThanOrEqual(
                policy.lostAfterMs,
              );
            }
            if (repair.do === 'pause') {
              expect(repair.at.getTime()).toBeGreaterThanOrEqual(since.getTime());
              expect(repair.at.getTime()).toBeLessThanOrEqual(at(nowMs).getTime());
            }
            const kind = repairMetricKind(repair);
            if (kind !== null) expect(repairKinds).toContain(kind);
          }
          rental = after(before, repairs, at(nowMs));
          // Repairs are not repeated, and the last healthy time of an interruption does not move.
          if (rental !== null) {
            const again = planRepairs(subject({ ...rental, changedAt: at(0) }, observed), around);
            expect(again.filter(({ do: what }) => what === 'unknown' || what === 'pause')).toEqual([]);
            if (before.unhealthySince !== null && rental.unhealthySince !== null)
              expect(rental.unhealthySince).toEqual(before.unhealthySince);
          }
          if (answered) wholeAt = at(nowMs);
        };
        for (const { observed, looks, gapMs, isAnswered } of stretches) {
          nowMs += gapMs;
          if (gapMs + 10 * S > policy.watchGapMs) watchingSince = at(nowMs + 10 * S);
          for (let count = 0; count < looks; count += 1) step(observed, isAnswered);
        }
        for (let count = 0; count < 3; count += 1) step('on', true);
        if (rental !== null) {
          expect(rental).toMatchObject({
            status: 'Running',
            power: 'on',
            unhealthySince: null,
            billingPausedAt: null,
          });
        }
      }),
      { numRuns: 150 },
    );
  });

  it('does nothing while only this process cannot reach the engine', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: NOW }), fc.boolean(), (agoMs, isUnknown) => {
        const rental = isUnknown ? unknownSince(NOW - agoMs - 1) : troubled(agoMs);
        const around = unanswered({ isSilent: false });
        expect(planRepairs(subject(rental, 'unheard'), around)).toEqual([]);
      }),
    );
  });
});
