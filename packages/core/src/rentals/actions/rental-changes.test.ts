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

describe('what an update changes', () => {
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
  ])('is what it names and no more: %o', (update, changes) => {
    expect(toRentalChanges(update, now)).toEqual(changes);
  });

  it.each([[{ maxUsd: 0.0000000001 }], [{ maxUsd: 1e12 }], [{ label: 'x'.repeat(1_001) }]])(
    'of what no row can hold is refused',
    (update) => {
      expect(reasonOf(() => toRentalChanges(update, now))).toBe('VALIDATION_FAILED');
    },
  );

  it('asks for a look only where its end may have moved', () => {
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

describe('a key whose rentals may last two hours', () => {
  const limits = { maxRentalSeconds: 7_200 };

  it.each<[string, Date | null, Date | null, string | null]>([
    ['sets an end within them', null, hours(1), null],
    ['sets the latest end', hours(1), hours(2), null],
    ['cannot set a later one', hours(1), hours(3), 'KEY_LIMIT_EXCEEDED'],
    ['cannot lift the end', hours(1), null, 'KEY_LIMIT_EXCEEDED'],
    ['cannot confirm that there is none', null, null, 'KEY_LIMIT_EXCEEDED'],
    ['shortens what others made longer', hours(9), hours(5), null],
    ['ends late what had no end', null, hours(5), null],
  ])('%s', (_, expiresAt, wanted, expected) => {
    expect(reasonOf(() => requireTtlWithinKeyLimit({ createdAt: now, expiresAt }, wanted, limits))).toBe(
      expected,
    );
  });

  it('asks nothing of a key without the limit', () => {
    const forEver = () =>
      requireTtlWithinKeyLimit({ createdAt: now, expiresAt: now }, null, { maxRentalSeconds: null });
    expect(reasonOf(forEver)).toBeNull();
  });
});

describe('a limit of the cost', () => {
  it.each([
    [null, null],
    [101n, null],
    [100n, 'VALIDATION_FAILED'],
    [1n, 'VALIDATION_FAILED'],
  ])('of %s nano-USD, where 100 are spent, is refused as %s', (limit, expected) => {
    const wanted = limit === null ? null : nanoUsd(limit);
    expect(reasonOf(() => requireLimitAboveCost(wanted, nanoUsd(100n)))).toBe(expected);
  });
});
