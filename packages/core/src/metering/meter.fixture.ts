import { createIdSource } from '@millrace/platform/ids';
import { nanoUsd, ppm, zeroUsd } from '@millrace/platform/money';
import { testClock } from '@millrace/testing';
import type { Meter } from './meter.ts';

export const fixtureIds = createIdSource({ clock: testClock(), cell: 1 });
export const at = (ms: number): Date => new Date(Date.UTC(2026, 0, 1) + ms);
export const HOUR = 3_600_000;
export const MINUTE = 60_000;
const orgId = fixtureIds.next('org');

/** An open meter at one nano-USD per millisecond, opened at `at(0)`. */
export function meterWith(fields: Partial<Meter> = {}): Meter {
  return {
    id: fixtureIds.next('mtr'),
    orgId,
    mode: 'live',
    cause: { kind: 'rental', id: '1042' },
    name: 'gpu',
    product: 'rental',
    keyId: null,
    ratePerHour: nanoUsd(3_600_000n),
    quantity: 8,
    unit: 'gpu',
    supplier: null,
    funding: 'ahead',
    termEndsAt: null,
    refund: ppm(0),
    retentionMs: 0,
    retentionRatePerHour: fields.ratePerHour ?? nanoUsd(3_600_000n),
    state: 'open',
    runningSince: at(0),
    elapsedBeforeMs: 0,
    postedMs: 0,
    posted: zeroUsd,
    shortfall: zeroUsd,
    restOfTerm: zeroUsd,
    holdId: fixtureIds.next('hld'),
    held: zeroUsd,
    coveredUntil: null,
    nextPostAt: null,
    postings: 0,
    transitions: 1,
    openedAt: at(0),
    closedAt: null,
    ...fields,
  };
}
