import { createIdSource } from '@millrace/platform/ids';
import { nanoUsd, ppm } from '@millrace/platform/money';
import { testClock } from '@millrace/testing';
import type { Meter } from '../../metering/index.ts';
import type { FrozenPrice } from '../../prices/index.ts';
import type { RentalTerm } from '../model/rental.ts';
import { at, orgId } from '../view.fixture.ts';

/** Terms and meters as plain values, for unit tests of pure functions. */

const ids = createIdSource({ clock: testClock(), cell: 1 });

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/** Two GPUs at 2 USD per hour each, or at 1.50 USD in a reserved term of `days`. */
export function priceWith(days: number | null, fields: Partial<FrozenPrice> = {}): FrozenPrice {
  const rate = days === null ? 4_000_000_000n : 3_000_000_000n;
  return {
    version: 1,
    product: 'rental',
    rateNanoUsdPerHour: String(rate),
    originalNanoUsdPerHour: '4000000000',
    discountPpm: days === null ? 0 : 250_000,
    quantity: 2,
    unitNanoUsdPerHour: '2000000000',
    reserve:
      days === null
        ? null
        : {
            optionId: ids.next('rso'),
            termPeriodDays: days,
            committedNanoUsd: String(rate * 24n * BigInt(days)),
            refundPpm: 500_000,
            onDemandNanoUsdPerHour: '3900000000',
          },
    priceIds: [],
    frozenAt: at(0).toISOString(),
    ...fields,
  };
}

/** A started reserved term has an end. */
export function termWith(seq: number, days: number | null, startedMs: number | null = null): RentalTerm {
  return {
    seq,
    termType: days === null ? 'on-demand' : 'reserved',
    price: priceWith(days),
    holdId: null,
    meterName: seq === 1 ? 'gpu' : `gpu-${seq}`,
    effectiveAt: startedMs === null ? null : at(startedMs),
    endsAt: startedMs === null || days === null ? null : at(startedMs + days * DAY),
  };
}

/** A meter that runs since `at(0)`. Default rate: one nano-USD per millisecond. */
export function meterWith(fields: Partial<Meter> = {}): Meter {
  const ratePerHour = fields.ratePerHour ?? nanoUsd(3_600_000n);
  const zero = nanoUsd(0n);
  return {
    id: ids.next('mtr'),
    orgId,
    mode: 'live',
    cause: { kind: 'rental', id: '1042' },
    name: 'gpu',
    product: 'rental',
    keyId: null,
    ratePerHour,
    quantity: 2,
    unit: 'gpu',
    supplier: null,
    funding: fields.termEndsAt == null ? 'ahead' : 'committed',
    termEndsAt: null,
    refund: ppm(0),
    retentionMs: 0,
    retentionRatePerHour: ratePerHour,
    state: 'open',
    runningSince: at(0),
    elapsedBeforeMs: 0,
    postedMs: 0,
    posted: zero,
    shortfall: zero,
    restOfTerm: zero,
    holdId: null,
    held: zero,
    coveredUntil: null,
    nextPostAt: null,
    postings: 0,
    transitions: 1,
    openedAt: at(0),
    closedAt: null,
    ...fields,
  };
}
