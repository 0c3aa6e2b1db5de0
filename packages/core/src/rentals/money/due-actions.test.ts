import { nanoUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Meter } from '../../metering/index.ts';
import { nextDueAction, noticeLeadTimesMs, type DueAction } from './due-actions.ts';
import type { Rental, RentalTerm } from '../model/rental.ts';
import { DAY, HOUR, meterWith, termWith } from './terms.fixture.ts';
import { at, rentalWith, running } from '../view.fixture.ts';

const onDemand = [termWith(1, null, 0)];

function due(
  rental: Rental,
  options: { terms?: readonly RentalTerm[]; meters?: readonly Meter[]; nowMs?: number } = {},
): DueAction | null {
  const { terms = onDemand, meters = [meterWith()], nowMs = 1 } = options;
  return nextDueAction({ rental, terms, machines: [] }, meters, at(nowMs));
}

describe('what is due of a rental', () => {
  it('is nothing when nothing was agreed that ends', () => {
    expect(due(running())).toBeNull();
  });

  it.each(['Terminating', 'Terminated', 'Failed'] as const)('is nothing once it is %s', (status) => {
    expect(due(running({ status, expiresAt: at(5) }))).toBeNull();
  });

  it('is the end of its time to live, also while it comes up or its engine is silent', () => {
    const expiresAt = at(HOUR / 2);
    const end = { what: 'terminate', at: expiresAt, because: 'ttl' };
    expect(due(rentalWith({ expiresAt }))).toEqual(end);
    expect(due(running({ expiresAt }))).toEqual(end);
    expect(due(running({ expiresAt, status: 'Unknown', unhealthySince: at(0) }))).toEqual(end);
  });

  it('is the end of its term: the next one, going on, or its end', () => {
    const terms = [termWith(1, 1, 0)];
    const last = { terms, nowMs: 23 * HOUR + 1 };
    const notified = { expiryNotifiedAt: at(23 * HOUR) };
    expect(due(running(notified), last)).toEqual({ what: 'convert', at: at(DAY) });
    expect(due(running({ ...notified, convertOnExpiry: false }), last)).toEqual({
      what: 'terminate',
      at: at(DAY),
      because: 'term',
    });
    expect(due(running(), { terms: [...terms, termWith(2, 7)] })).toEqual({ what: 'extend', at: at(DAY) });
  });

  it('is no term of a rental that is not up', () => {
    expect(due(rentalWith(), { terms: [termWith(1, 1)] })).toBeNull();
  });

  it('is the limit of its cost', () => {
    expect(due(running({ maxNanoUsd: nanoUsd(5_000n) }))).toEqual({
      what: 'terminate',
      at: at(5_000),
      because: 'cap',
    });
  });

  it('is the end of what pays for a disk that is kept', () => {
    const retained = meterWith({ name: 'disk-1', termEndsAt: at(HOUR / 2) });
    expect(due(running({ power: 'off', gpuHeld: false }), { meters: [retained] })).toEqual({
      what: 'retention',
      at: at(HOUR / 2),
    });
  });

  it('is the soonest of them, and of two at once the end', () => {
    const rental = running({ expiresAt: at(5_000), maxNanoUsd: nanoUsd(4_000n) });
    expect(due(rental)).toMatchObject({ because: 'cap' });
    expect(due({ ...rental, maxNanoUsd: nanoUsd(6_000n) })).toMatchObject({ because: 'ttl' });
    const both = running({ expiresAt: at(DAY) });
    expect(due(both, { terms: [termWith(1, 1, 0)], nowMs: DAY + 1 })).toMatchObject({ because: 'ttl' });
  });
});

describe('the notice of an end', () => {
  const expiresAt = at(3 * DAY);
  const noticeAt = (ms: number) => ({
    what: 'notice',
    at: at(ms),
    end: { at: expiresAt, cause: 'ttl', next: 'terminate' },
  });

  it('comes a day and an hour before, each once, and then the end', () => {
    expect(due(running({ expiresAt }))).toEqual(noticeAt(2 * DAY));
    const notified = running({ expiresAt, expiryNotifiedAt: at(2 * DAY) });
    expect(due(notified, { nowMs: 2 * DAY + 5 })).toEqual(noticeAt(3 * DAY - HOUR));
    const again = running({ expiresAt, expiryNotifiedAt: at(3 * DAY - HOUR) });
    expect(due(again, { nowMs: 3 * DAY - 5 })).toMatchObject({ what: 'terminate' });
  });

  it('is made up for once when several were missed, and not after the end', () => {
    const late = running({ expiresAt });
    expect(due(late, { nowMs: 3 * DAY - 5 })).toEqual(noticeAt(3 * DAY - HOUR));
    expect(due(late, { nowMs: 3 * DAY + 5 })).toMatchObject({ what: 'terminate' });
  });

  it('is not given of what was known when it began', () => {
    const brief = running({ expiresAt: at(2 * HOUR) });
    expect(due(brief)).toMatchObject({ what: 'notice', at: at(HOUR) });
    expect(due(running({ expiresAt: at(HOUR / 2) }))).toMatchObject({ what: 'terminate' });
  });

  it('is given again of an end that was moved away', () => {
    const moved = running({ expiresAt: at(9 * DAY), expiryNotifiedAt: at(2 * DAY) });
    expect(due(moved, { nowMs: 2 * DAY + 5 })).toMatchObject({ what: 'notice', at: at(8 * DAY) });
  });

  it('tells what comes after a term, and nothing where another follows', () => {
    const terms = [termWith(1, 30, 0)];
    expect(due(running(), { terms })).toMatchObject({ end: { cause: 'term', next: 'convert' } });
    const ends = running({ convertOnExpiry: false });
    expect(due(ends, { terms })).toMatchObject({ end: { cause: 'term', next: 'terminate' } });
    expect(due(ends, { terms: [...terms, termWith(2, 7)] })).toMatchObject({ what: 'extend' });
  });

  it('tells of a disk that is kept for want of balance or budget', () => {
    const meters = [meterWith({ name: 'disk-1', termEndsAt: at(3 * DAY) })];
    expect(due(running(), { meters })).toMatchObject({ at: at(2 * DAY), end: { cause: 'balance' } });
    const budget = running({ taskOptions: { because: 'budget' } });
    expect(due(budget, { meters })).toMatchObject({ end: { cause: 'budget' } });
  });

  it('leads to every end through at most one notice for each lead, whenever somebody looks', () => {
    const looks = fc.array(fc.integer({ min: 1, max: 4 * DAY }), { maxLength: 30 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 * DAY }), looks, (endMs, times) => {
        let rental = running({ expiresAt: at(endMs) });
        let notices = 0;
        for (const nowMs of [...times.toSorted((one, other) => one - other), 5 * DAY]) {
          for (let next = due(rental, { nowMs }); next !== null && next.at <= at(nowMs);) {
            if (next.what !== 'notice') {
              expect(next).toMatchObject({ what: 'terminate', at: at(endMs) });
              break;
            }
            expect(nowMs).toBeLessThan(endMs);
            notices += 1;
            rental = { ...rental, expiryNotifiedAt: next.at };
            next = due(rental, { nowMs });
          }
        }
        expect(notices).toBeLessThanOrEqual(noticeLeadTimesMs.length);
      }),
    );
  });
});
