import { nanoUsd } from '@millrace/platform/money';
import { expect, it } from 'vitest';
import { revenuePeriod, revenueReport } from './revenue-report.ts';

const now = new Date('2026-11-18T10:00:00.000Z');
const sum = (day: string, product: 'rental' | 'inference' | null, amount: bigint) => ({
  day,
  product,
  amount: nanoUsd(amount),
});

it('the period is 31 whole days, so it contains the month also on its last day', () => {
  expect(revenuePeriod(new Date('2026-10-31T23:59:59.999Z'))).toEqual({
    from: new Date('2026-10-01T00:00:00.000Z'),
    until: new Date('2026-11-01T00:00:00.000Z'),
  });
});

it('adds up today and the month by product, and counts the platform fee for instances', () => {
  const report = revenueReport(
    [
      sum('2026-10-31', 'rental', 1_000n),
      sum('2026-11-02', 'rental', 20n),
      sum('2026-11-18', 'rental', 3n),
      sum('2026-11-18', null, 4n),
      sum('2026-11-18', 'inference', -2n),
    ],
    now,
  );
  expect(report.today).toEqual({
    total: 5n,
    products: { rentals: 3n, volumes: 0n, instances: 4n, inference: -2n },
  });
  expect(report.month.total).toBe(25n);
  expect(report.days.map(({ day, revenue }) => [day.toISOString().slice(0, 10), revenue.total])).toEqual([
    ['2026-10-31', 1_000n],
    ['2026-11-02', 20n],
    ['2026-11-18', 5n],
  ]);
});
