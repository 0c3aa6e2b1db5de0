import { isFault } from '@millrace/platform/fault';
import { nanoUsd } from '@millrace/platform/money';
import { describe, expect, it } from 'vitest';
import {
  toRentalChanges,
  changesEnd,
  requireTtlWithinKeyLimit,
  requireLimitAboveCost,
} from './rental-changes.ts';

const now = new Date('2026-01-01T00:00:00.000Z');
const hours = (count: number): Date => new Date(now.getTime() + count * 3_600_000);

const reasonOf = (work: () => unknown): string | null => {
  try {
    work();
    return null;
  } catch (error) {
    return isFault(error) ? error.reason : String(error);
  }
};

describe('toRentalChanges', () => {
  it.each([
    [{}, {}],
    [
      { name: 'box', label: null, tags: {} },
      { name: 'box', label: null, tags: {} },
    ],
    [{ ttlSeconds: 3600 }, { expiresAt: hours(1) }],
    [
      { ttlSeconds: null, maxUsd: null, idle: null },
      { expiresAt: null, maxNanoUsd: null, idle: null },
    ],
    [{ maxUsd: 0.000000001 }, { maxNanoUsd: 1n }],
    [{ convertToOnDemandOnExpiry: false }, { convertOnExpiry: false }],
    [
      { idle: { afterSeconds: 300, action: 'stop' as const } },
      { idle: { afterSeconds: 300, action: 'stop' as const } },
    ],
  ])('contains only the fields of the update: %o', (update, changes) => {
    expect(toRentalChanges(update, now)).toEqual(changes);
  });

  it.each([[{ maxUsd: 0.0000000001 }], [{ maxUsd: 1e12 }], [{ label: 'x'.repeat(1_001) }]])(
    'rejects values that the row cannot store',
    (update) => {
      expect(reasonOf(() => toRentalChanges(update, now))).toBe('VALIDATION_FAILED');
    },
  );

  it('changesEnd is true only for fields that can move the end', () => {
    expect(changesEnd({ name: 'a', label: 'b', tags: {} })).toBe(false);
    for (const changes of [
      { expiresAt: null },
      { maxNanoUsd: null },
      { idle: null },
      { convertOnExpiry: true },
    ]) {
      expect(changesEnd(changes)).toBe(true);
    }
  });
});

describe('requireTtlWithinKeyLimit with a limit of two hours', () => {
  const limits = { maxRentalSeconds: 7_200 };

  it.each<[string, Date | null, Date | null, string | null]>([
    ['accepts an end within the limit', null, hours(1), null],
    ['accepts an end at the limit', hours(1), hours(2), null],
    ['rejects an end beyond the limit', hours(1), hours(3), 'KEY_LIMIT_EXCEEDED'],
    ['rejects the removal of the end', hours(1), null, 'KEY_LIMIT_EXCEEDED'],
    ['rejects no end for a rental without end', null, null, 'KEY_LIMIT_EXCEEDED'],
    ['accepts an earlier end beyond the limit', hours(9), hours(5), null],
    ['accepts an end beyond the limit for a rental without end', null, hours(5), null],
  ])('%s', (_, expiresAt, wanted, expected) => {
    expect(reasonOf(() => requireTtlWithinKeyLimit({ createdAt: now, expiresAt }, wanted, limits))).toBe(
      expected,
    );
  });

  it('accepts any end for a key without the limit', () => {
    const forEver = () =>
      requireTtlWithinKeyLimit({ createdAt: now, expiresAt: now }, null, { maxRentalSeconds: null });
    expect(reasonOf(forEver)).toBeNull();
  });
});

describe('requireLimitAboveCost', () => {
  it.each([
    [null, null],
    [101n, null],
    [100n, 'VALIDATION_FAILED'],
    [1n, 'VALIDATION_FAILED'],
  ])('with limit %s and a cost of 100 nano-USD fails with %s', (limit, expected) => {
    const wanted = limit === null ? null : nanoUsd(limit);
    expect(reasonOf(() => requireLimitAboveCost(wanted, nanoUsd(100n)))).toBe(expected);
  });
});
