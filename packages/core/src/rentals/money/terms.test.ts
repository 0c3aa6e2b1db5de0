import { meteredTotal, nanoUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costAt, limitReachedAt, type Meter } from '../../metering/index.ts';
import { DAY, HOUR, meterWith, termWith } from './terms.fixture.ts';
import {
  actionAfterCurrentTerm,
  billingEndsAt,
  currentTerm,
  freesAt,
  retainedDiskMeter,
  onDemandPrice,
  reservationEndsAt,
  reservedUntil,
} from './terms.ts';
import { at, running } from '../view.fixture.ts';

const spendingLimitReachedAt = (
  rental: { readonly maxNanoUsd: Parameters<typeof limitReachedAt>[1] },
  meters: readonly Meter[],
) => limitReachedAt(meters, rental.maxNanoUsd);

describe('terms', () => {
  it('currentTerm is the last started term, or the first if none has started', () => {
    const terms = [termWith(1, 30, 0), termWith(2, 7)];
    expect(currentTerm(terms).seq).toBe(1);
    expect(currentTerm([termWith(1, 30), termWith(2, 7)]).seq).toBe(1);
    expect(currentTerm([termWith(1, 30, 0), termWith(2, 7, 30 * DAY)]).seq).toBe(2);
    expect(() => currentTerm([])).toThrow('at least one term');
  });

  it('reservedUntil ends with the current term, reservationEndsAt after all extensions', () => {
    const terms = [termWith(1, 30, 0), termWith(2, 7), termWith(3, 1)];
    expect([reservedUntil(terms), reservationEndsAt(terms)]).toEqual([at(30 * DAY), at(38 * DAY)]);
    const later = [termWith(1, 30, 0), termWith(2, 7, 30 * DAY), termWith(3, 1)];
    expect([reservedUntil(later), reservationEndsAt(later)]).toEqual([at(37 * DAY), at(38 * DAY)]);
  });

  it('have no end before the readiness check passed, and none on demand', () => {
    for (const terms of [[termWith(1, 30), termWith(2, 7)], [termWith(1, null, 0)]]) {
      expect([reservedUntil(terms), reservationEndsAt(terms)]).toEqual([null, null]);
    }
    // The unstarted term of a failed start is not an extension.
    const waiting = [termWith(1, null, 0), termWith(2, null)];
    expect(reservationEndsAt(waiting)).toBeNull();
  });

  it("actionAfterCurrentTerm is the extension if there is one, else the tenant's choice", () => {
    const terms = [termWith(1, 30, 0)];
    const [converts, ends] = [running(), running({ convertOnExpiry: false })];
    expect(actionAfterCurrentTerm({ rental: converts, terms })).toBe('convert');
    expect(actionAfterCurrentTerm({ rental: ends, terms })).toBe('terminate');
    expect(actionAfterCurrentTerm({ rental: ends, terms: [...terms, termWith(2, 7)] })).toBe('extend');
  });

  it('onDemandPrice is the on-demand price that was frozen with the first term', () => {
    const extended = [termWith(1, 30, 0), termWith(2, 7, 30 * DAY)];
    expect(onDemandPrice(extended)).toMatchObject({ rateNanoUsdPerHour: '3900000000', reserve: null });
    expect(onDemandPrice([termWith(1, null, 0)]).rateNanoUsdPerHour).toBe('4000000000');
  });

  it('freesAt is the earliest known end, or null', () => {
    const terms = [termWith(1, 30, 0), termWith(2, 7)];
    const expiresAt = at(3 * DAY);
    expect(freesAt({ rental: running(), terms })).toBeNull();
    expect(freesAt({ rental: running({ convertOnExpiry: false }), terms })).toEqual(at(37 * DAY));
    expect(freesAt({ rental: running({ expiresAt }), terms })).toEqual(expiresAt);
    expect(freesAt({ rental: running({ expiresAt, convertOnExpiry: false }), terms })).toEqual(expiresAt);
    const later = running({ expiresAt: at(99 * DAY), convertOnExpiry: false });
    expect(freesAt({ rental: later, terms })).toEqual(at(37 * DAY));
  });
});

describe('retainedDiskMeter', () => {
  it('returns the open disk meter whose whole time is held, else null', () => {
    const retained = meterWith({ name: 'disk-1', termEndsAt: at(72 * HOUR) });
    expect(retainedDiskMeter([meterWith({ state: 'closed' }), retained])).toEqual(retained);
    expect(
      retainedDiskMeter([meterWith({ termEndsAt: at(HOUR) }), meterWith({ name: 'disk-1' })]),
    ).toBeNull();
    expect(retainedDiskMeter([{ ...retained, state: 'closed' }])).toBeNull();
  });
});

const closed = (elapsedBeforeMs: number, fields: Partial<Meter> = {}): Meter =>
  meterWith({ state: 'closed', runningSince: null, elapsedBeforeMs, closedAt: at(0), ...fields });

describe('limitReachedAt', () => {
  const cap = (nano: bigint) => ({ maxNanoUsd: nanoUsd(nano) });

  it('is the last millisecond within the spending limit', () => {
    expect(spendingLimitReachedAt(cap(5_000n), [meterWith()])).toEqual(at(5_000));
    expect(spendingLimitReachedAt(cap(5_000n), [closed(2_000), meterWith()])).toEqual(at(3_000));
    expect(
      spendingLimitReachedAt(cap(5_000n), [closed(2_000, { restOfTerm: nanoUsd(1_000n) }), meterWith()]),
    ).toEqual(at(2_000));
  });

  it('counts a running term in full, because it is owed', () => {
    const term = meterWith({ termEndsAt: at(4_000) });
    const after = meterWith({ name: 'gpu-2', runningSince: at(4_000), openedAt: at(4_000) });
    expect(spendingLimitReachedAt(cap(5_000n), [term])).toBeNull();
    expect(spendingLimitReachedAt(cap(5_000n), [term, after])).toEqual(at(5_000));
    expect(spendingLimitReachedAt(cap(3_000n), [term, after])).toEqual(at(4_000));
  });

  it('is null without a rate, a running meter or a limit, and never after the year 9999', () => {
    expect(spendingLimitReachedAt({ maxNanoUsd: null }, [meterWith()])).toBeNull();
    expect(spendingLimitReachedAt(cap(5n), [meterWith({ ratePerHour: nanoUsd(0n) })])).toBeNull();
    expect(spendingLimitReachedAt(cap(5n), [closed(1)])).toBeNull();
    expect(spendingLimitReachedAt(cap(10n ** 18n), [meterWith({ ratePerHour: nanoUsd(1n) })])).toEqual(
      new Date(Date.UTC(9999, 11, 31) - 1),
    );
  });

  it('never exceeds the limit by a nano-USD and uses it to the last millisecond', () => {
    const rates = fc.bigInt({ min: 1n, max: 10n ** 13n }).map(nanoUsd);
    const some = fc.array(fc.tuple(rates, fc.nat(10 * HOUR), fc.nat(HOUR)), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(some, fc.bigInt({ min: 1n, max: 10n ** 16n }), (rows, limit) => {
        const meters = rows.map(([ratePerHour, elapsedBeforeMs, since]) =>
          meterWith({ ratePerHour, elapsedBeforeMs, runningSince: at(since) }),
        );
        const end = spendingLimitReachedAt(cap(limit), meters);
        if (end === null) return;
        const costBy = (ms: number): bigint =>
          meters.reduce((sum, meter) => sum + costAt(meter, new Date(end.getTime() + ms)), 0n);
        const isLate = meters.some(({ runningSince }) => (runningSince ?? at(0)).getTime() === end.getTime());
        expect(costBy(0) <= limit || isLate).toBe(true);
        expect(costBy(1) > limit || end.getTime() >= Date.UTC(9999, 11, 31) - 1).toBe(true);
      }),
    );
  });

  it('does not depend on what has been posted', () => {
    const [one, posted] = [
      meterWith(),
      meterWith({ postedMs: 777, posted: meteredTotal(nanoUsd(3_600_000n), 777) }),
    ];
    expect(spendingLimitReachedAt(cap(5_000n), [posted])).toEqual(spendingLimitReachedAt(cap(5_000n), [one]));
  });
});

describe('billingEndsAt', () => {
  const terms = [termWith(1, null, 0)];

  it('is now, or an earlier TTL or spending limit', () => {
    const now = at(10_000);
    expect(billingEndsAt({ rental: running(), terms }, [meterWith()], now)).toEqual(now);
    const ttl = running({ expiresAt: at(9_000) });
    expect(billingEndsAt({ rental: ttl, terms }, [meterWith()], now)).toEqual(at(9_000));
    expect(billingEndsAt({ rental: { ...ttl, expiresAt: at(11_000) }, terms }, [meterWith()], now)).toEqual(
      now,
    );
    const capped = running({ maxNanoUsd: nanoUsd(8_000n) });
    expect(billingEndsAt({ rental: capped, terms }, [meterWith()], now)).toEqual(at(8_000));
  });

  it('is the end of a term that terminates the rental', () => {
    const reserved = [termWith(1, 1, 0)];
    const now = at(DAY + HOUR);
    const ends = running({ convertOnExpiry: false });
    expect(billingEndsAt({ rental: ends, terms: reserved }, [], now)).toEqual(at(DAY));
    expect(billingEndsAt({ rental: running(), terms: reserved }, [], now)).toEqual(now);
  });
});
