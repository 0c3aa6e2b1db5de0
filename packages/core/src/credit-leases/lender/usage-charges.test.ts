import { toUuid } from '@millrace/platform/ids';
import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import {
  absorbedAmount,
  capAtHeld,
  capAtMaxCost,
  capAtLease,
  capAtReservation,
  groupUsage,
  usageOutcomeOf,
  type UsageItem,
} from './usage-charges.ts';

const orgId = testIds.next('org');
const leaseId = testIds.next('lse');
const keyId = testIds.next('key');
const item = (more: Partial<UsageItem> = {}): UsageItem => ({
  requestId: testIds.next('req'),
  orgId,
  mode: 'live',
  keyId,
  leaseId,
  gatewayId: 'g1',
  product: 'one',
  amount: 5n,
  reserved: 9n,
  priced: 5n,
  budgets: [],
  usedAtMs: Date.UTC(2026, 0, 31, 23, 59),
  quantities: { promptTokens: 2, outputTokens: 1 },
  ...more,
});

describe('usage charges', () => {
  const lease = { orgId, mode: 'live', state: 'open' } as const;
  it.each([
    ['charged', item(), lease, []],
    ['late', item(), { ...lease, state: 'closed' as const }, []],
    ['late', item(), lease, [`${leaseId} g1`]],
    ['charged', item(), lease, [`${leaseId} g2`]],
    ['unknown_lease', item(), undefined, []],
    ['unknown_lease', item({ orgId: testIds.next('org') }), lease, []],
    ['unknown_lease', item({ mode: 'test' }), lease, []],
    ['charged', item({ mostCost: 5n }), lease, []],
    ['overpriced', item({ mostCost: 4n }), lease, []],
    ['charged', item({ mostCost: 8n, priced: 9n }), lease, []],
    ['late', item({ mostCost: 4n }), { ...lease, state: 'closed' as const }, []],
  ] as const)('are %s in case %#', (result, one, known, settled) => {
    const closed = { settled: new Set<string>(settled), archiveCutoff: null };
    expect(usageOutcomeOf(one, known, closed)).toBe(result);
  });

  it('are late for requests of archived months only', () => {
    const [older, newer] = [item(), item()];
    const closed = { settled: new Set<string>(), archiveCutoff: toUuid(newer.requestId) };
    expect(usageOutcomeOf(older, lease, closed)).toBe('late');
    expect(usageOutcomeOf(newer, lease, closed)).toBe('charged');
  });

  it('are limited to the reservation, and the operator absorbs the rest of the price', () => {
    expect(capAtReservation(item({ amount: 9n }))).toMatchObject({ amount: 9n });
    expect(capAtReservation(item({ amount: 10n }))).toMatchObject({ amount: 9n });
    expect([4n, 5n, 6n].map((priced) => absorbedAmount({ amount: 5n, priced }))).toEqual([0n, 0n, 1n]);
    const [group] = groupUsage([item({ priced: 8n }), item({ amount: 7n, priced: 7n })]);
    expect(group).toMatchObject({ amount: 12n, absorbed: 3n });
  });

  it('are limited to what the lease still holds, in the order of the batch', () => {
    const other = testIds.next('lse');
    const items = [item(), item(), item({ leaseId: other }), item()];
    const cut = capAtHeld(items, (id) => (id === other ? 4n : 8n));
    expect(cut.map(({ amount }) => amount)).toEqual([5n, 3n, 4n, 0n]);
    expect(cut.map(absorbedAmount)).toEqual([0n, 2n, 1n, 5n]);
  });

  it('share a transfer per organisation, mode, key, lease, product and month', () => {
    const groups = groupUsage([
      item(),
      item({ amount: 7n }),
      item({ product: 'two' }),
      item({ keyId: null }),
      item({ leaseId: testIds.next('lse') }),
      item({ mode: 'test' }),
      item({ usedAtMs: Date.UTC(2026, 1) }),
      item({ usedAtMs: Date.UTC(2026, 1) + 7 }),
    ]);
    expect(groups.map(({ items, amount }) => [items.length, amount])).toEqual([
      [2, 12n],
      [1, 5n],
      [1, 5n],
      [1, 5n],
      [1, 5n],
      [2, 10n],
    ]);
    expect(groups.at(-1)?.usedBy).toEqual(new Date(Date.UTC(2026, 1) + 7));
    expect(groups[0]?.quantities).toEqual({ requests: 2, promptTokens: 4, outputTokens: 2 });
    expect(groupUsage([])).toEqual([]);
  });
});

describe('capAtMaxCost', () => {
  it.each([
    ['keeps the price of an item without a maximum', {}, 900n],
    ['keeps a price up to the maximum', { mostCost: 900n }, 900n],
    ['limits a price above the maximum', { mostCost: 800n }, 800n],
    ['keeps the price if the amount is also above the maximum', { mostCost: 4n }, 900n],
  ])('%s', (_, over, priced) => {
    expect(capAtMaxCost(item({ priced: 900n, ...over }))).toMatchObject({ amount: 5n, priced });
  });
});

describe('capAtLease', () => {
  const implausible = 2n ** 53n;
  it.each([
    ['keeps amounts that the lease can hold', { amount: 5n, priced: 9n }, 0n, { amount: 5n, priced: 9n }],
    [
      'allows one dollar for a small lease',
      { amount: implausible, priced: implausible },
      7n,
      { amount: 10n ** 9n, priced: 2n * 10n ** 9n },
    ],
    [
      'allows the granted amount of a larger lease',
      { amount: implausible, priced: implausible },
      10n ** 10n,
      { amount: 10n ** 10n, priced: 2n * 10n ** 10n },
    ],
    [
      'limits the price if the amount is small',
      { amount: 5n, priced: implausible },
      0n,
      { amount: 5n, priced: 10n ** 9n + 5n },
    ],
  ])('%s', (_, reported, granted, expected) => {
    expect(capAtLease(item(reported), { granted })).toMatchObject(expected);
  });
});
