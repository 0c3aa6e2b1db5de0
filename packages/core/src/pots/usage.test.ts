import { testIds } from '@millrace/testing';
import { describe, expect, it } from 'vitest';
import { borneOf, cutToReservation, groupUsage, judgeUsage, type UsageItem } from './usage.ts';

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

describe('usage', () => {
  const lease = { orgId, mode: 'live', closed: false } as const;
  it.each([
    ['charged', item(), lease, []],
    ['late', item(), { ...lease, closed: true }, []],
    ['late', item(), lease, [`${leaseId} g1`]],
    ['charged', item(), lease, [`${leaseId} g2`]],
    ['unknown_lease', item(), undefined, []],
    ['unknown_lease', item({ orgId: testIds.next('org') }), lease, []],
    ['unknown_lease', item({ mode: 'test' }), lease, []],
  ] as const)('is %s', (verdict, one, known, settled) => {
    expect(judgeUsage(one, known, new Set(settled))).toBe(verdict);
  });

  it("is charged up to what was reserved, and the rest of its price is the operator's", () => {
    expect(cutToReservation(item({ amount: 9n }))).toMatchObject({ amount: 9n });
    expect(cutToReservation(item({ amount: 10n }))).toMatchObject({ amount: 9n });
    expect([4n, 5n, 6n].map((priced) => borneOf({ amount: 5n, priced }))).toEqual([0n, 0n, 1n]);
    const [group] = groupUsage([item({ priced: 8n }), item({ amount: 7n, priced: 7n })]);
    expect(group).toMatchObject({ amount: 12n, borne: 3n });
  });

  it('shares a transfer with what has the same organisation, mode, key, lease, product and month', () => {
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
