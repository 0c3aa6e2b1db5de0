import { nanoUsd } from '@millrace/platform/money';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countedQuantity, decimalText, pricedQuantity, type CostKind, type CostUnit } from './costs.ts';
import { daysOf } from './day-ranges.ts';
import { invoiceLinesOf, numberText, totalOf } from './invoice.ts';

const costs = fc.array(
  fc.record({
    kind: fc.constantFrom<CostKind>('use', 'fee', 'refund'),
    resource: fc.record({
      kind: fc.constantFrom('rental', 'volume', 'model', 'other'),
      id: fc.integer({ min: 1, max: 30 }).map(String),
    }),
    unit: fc.constantFrom<CostUnit>('gpu', 'gb', 'token', 'none'),
    quantity: fc.bigInt({ min: -1000n, max: 1000n }),
    cost: fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n }).map(nanoUsd),
  }),
  { maxLength: 200 },
);

describe('invoiceLinesOf', () => {
  it('sums to the total cost, with one line per resource and unit, for any line limit', () => {
    fc.assert(
      fc.property(costs, fc.integer({ min: 1, max: 200 }), (all, most) => {
        const lines = invoiceLinesOf(all, most);
        expect(totalOf(lines)).toBe(all.reduce((sum, { cost }) => sum + cost, 0n));
        expect(new Set(lines.map(({ description, unit }) => `${description} ${unit}`)).size).toBe(
          lines.length,
        );
        // The remaining costs become one line per kind of resource, unit and cost.
        expect(lines.filter(({ cause }) => cause !== null).length).toBeLessThanOrEqual(most);
        expect(lines.length).toBeLessThanOrEqual(most + 4 * 4 * 3);
      }),
    );
  });

  it('keeps the largest costs as lines and counts the others', () => {
    const one = (id: number, cost: bigint) => ({
      kind: 'use' as const,
      resource: { kind: 'rental', id: String(id) },
      unit: 'gpu' as const,
      quantity: 3_600_000n,
      cost: nanoUsd(cost),
    });
    const lines = invoiceLinesOf([one(1, 5n), one(2, -900n), one(3, 7n), one(4, 100n)], 2);
    expect(lines.map(({ description, quantity, amount }) => [description, quantity, amount])).toEqual([
      ['Rental 2: GPU time', '1', -900n],
      ['Rental 4: GPU time', '1', 100n],
      ['2 further rentals: GPU time', '2', 12n],
    ]);
  });

  it('is empty without costs', () => {
    expect(invoiceLinesOf([])).toEqual([]);
  });
});

it('numberText has at least eight digits', () => {
  expect([1n, 99_999_999n, 123_456_789n].map(numberText)).toEqual([
    'INV-00000001',
    'INV-99999999',
    'INV-123456789',
  ]);
});

it.each([
  [0n, 3, '0'],
  [5n, 3, '0.005'],
  [-5n, 3, '-0.005'],
  [1_500n, 3, '1.5'],
  [-12_000n, 3, '-12'],
])('decimalText of %d with %d digits is %s', (value, digits, expected) => {
  expect(decimalText(value, digits)).toBe(expected);
});

it('quantities are hours for prices and seconds as counted, and counts stay unchanged', () => {
  expect([pricedQuantity('gpu', 1n), pricedQuantity('gb', -5_400_000n), pricedQuantity('token', 7n)]).toEqual(
    ['0.000000278', '-1.5', '7'],
  );
  expect([countedQuantity('gpu', 1n), countedQuantity('character', 7n)]).toEqual(['0.001', '7']);
});

it('daysOf splits a time range at midnight, without gap or overlap', () => {
  const [from, until] = [new Date('2026-02-27T23:00:00Z'), new Date('2026-03-02T00:00:00.001Z')];
  const days = [...daysOf({ from, until })];
  expect(days.map((day) => day.from.toISOString().slice(0, 13))).toEqual([
    '2026-02-27T23',
    '2026-02-28T00',
    '2026-03-01T00',
    '2026-03-02T00',
  ]);
  expect(days.at(-1)?.until).toEqual(until);
  for (const [index, day] of days.slice(1).entries()) expect(days[index]?.until).toEqual(day.from);
  expect([...daysOf({ from, until: from })]).toEqual([]);
});
