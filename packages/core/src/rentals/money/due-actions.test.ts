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

describe('nextDueAction', () => {
  it('returns null for a rental without TTL, term or spending limit', () => {
    expect(due(running())).toBeNull();
  });

  it.each(['Terminating', 'Terminated', 'Failed'] as const)(
    'returns null for a rental that is %s',
    (status) => {
      expect(due(running({ status, expiresAt: at(5) }))).toBeNull();
    },
  );

  it('returns the TTL expiry, also while Pending or Unknown', () => {
    const expiresAt = at(HOUR / 2);
    const end = { what: 'terminate', at: expiresAt, because: 'ttl' };
    expect(due(rentalWith({ expiresAt }))).toEqual(end);
    expect(due(running({ expiresAt }))).toEqual(end);
    expect(due(running({ expiresAt, status: 'Unknown', unhealthySince: at(0) }))).toEqual(end);
  });

  it('returns extend, convert or terminate at the end of the term', () => {
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

  it('ignores term ends while Pending', () => {
    expect(due(rentalWith(), { terms: [termWith(1, 1)] })).toBeNull();
  });

  it('returns the termination at the spending limit', () => {
    expect(due(running({ maxNanoUsd: nanoUsd(5_000n) }))).toEqual({
      what: 'terminate',
      at: at(5_000),
      because: 'cap',
    });
  });

  it('returns the end of the retention of a disk', () => {
    const retained = meterWith({ name: 'disk-1', termEndsAt: at(HOUR / 2) });
    expect(due(running({ power: 'off', gpuHeld: false }), { meters: [retained] })).toEqual({
      what: 'retention',
      at: at(HOUR / 2),
    });
  });

  it('returns the earliest action; termination wins a tie', () => {
    const rental = running({ expiresAt: at(5_000), maxNanoUsd: nanoUsd(4_000n) });
    expect(due(rental)).toMatchObject({ because: 'cap' });
    expect(due({ ...rental, maxNanoUsd: nanoUsd(6_000n) })).toMatchObject({ because: 'ttl' });
    const both = running({ expiresAt: at(DAY) });
    expect(due(both, { terms: [termWith(1, 1, 0)], nowMs: DAY + 1 })).toMatchObject({ because: 'ttl' });
  });
});

describe('expiry notice', () => {
  const expiresAt = at(3 * DAY);
  const noticeAt = (ms: number) => ({
    what: 'notice',
    at: at(ms),
    end: { at: expiresAt, cause: 'ttl', next: 'terminate' },
  });

  it('is due a day and an hour before the end, each once, followed by the termination', () => {
    expect(due(running({ expiresAt }))).toEqual(noticeAt(2 * DAY));
    const notified = running({ expiresAt, expiryNotifiedAt: at(2 * DAY) });
    expect(due(notified, { nowMs: 2 * DAY + 5 })).toEqual(noticeAt(3 * DAY - HOUR));
    const again = running({ expiresAt, expiryNotifiedAt: at(3 * DAY - HOUR) });
    expect(due(again, { nowMs: 3 * DAY - 5 })).toMatchObject({ what: 'terminate' });
  });

  it('is sent once if several lead times were missed, and never after expiry', () => {
    const late = running({ expiresAt });
    expect(due(late, { nowMs: 3 * DAY - 5 })).toEqual(noticeAt(3 * DAY - HOUR));
    expect(due(late, { nowMs: 3 * DAY + 5 })).toMatchObject({ what: 'terminate' });
  });

  it('is not sent for lead times that had passed when the rental started', () => {
    const brief = running({ expiresAt: at(2 * HOUR) });
    expect(due(brief)).toMatchObject({ what: 'notice', at: at(HOUR) });
    expect(due(running({ expiresAt: at(HOUR / 2) }))).toMatchObject({ what: 'terminate' });
  });

  it('is null without a rate, a running meter or a limit, and never after the year 9999', () => {
    const moved = running({ expiresAt: at(9 * DAY), expiryNotifiedAt: at(2 * DAY) });
    expect(due(moved, { nowMs: 2 * DAY + 5 })).toMatchObject({ what: 'notice', at: at(8 * DAY) });
  });

  it('names the action after the term, and is omitted if another term follows', () => {
    const terms = [termWith(1, 30, 0)];
    expect(due(running(), { terms })).toMatchObject({ end: { cause: 'term', next: 'convert' } });
    const ends = running({ convertOnExpiry: false });
    expect(due(ends, { terms })).toMatchObject({ end: { cause: 'term', next: 'terminate' } });
    expect(due(ends, { terms: [...terms, termWith(2, 7)] })).toMatchObject({ what: 'extend' });
  });

  it('names balance or budget as the cause of a disk retention', () => {
    const meters = [meterWith({ name: 'disk-1', termEndsAt: at(3 * DAY) })];
    expect(due(running(), { meters })).toMatchObject({ at: at(2 * DAY), end: { cause: 'balance' } });
    const budget = running({ taskOptions: { because: 'budget' } });
    expect(due(budget, { meters })).toMatchObject({ end: { cause: 'budget' } });
  });

  it('is sent at most once per lead time for any sequence of checks', () => {
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
