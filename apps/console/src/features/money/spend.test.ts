import { describe, expect, it } from 'vitest';
import { spendByDay, monthStart, productsIn, spendScale, spendSums, type UsageRow } from './spend.ts';

const row = (group: string, amounts: Partial<UsageRow['products']>): UsageRow => {
  const all = { rentals: '0', volumes: '0', instances: '0', inference: '0', other: '0', ...amounts };
  const amount = Object.values(all).reduce((sum, part) => sum + BigInt(part), 0n);
  return {
    group,
    amountNanoUsd: amount.toString(),
    products: all,
    gpuSeconds: 0,
    volumeGbSeconds: 0,
    requestCount: 0,
    tokensPrompt: 0,
    tokensCompletion: 0,
  };
};
const at = (text: string): number => Date.parse(text);

describe('days', () => {
  it('are sorted oldest first and include days without spending', () => {
    const rows = [row('2026-11-03', { rentals: '7', inference: '1' }), row('2026-11-01', { volumes: '2' })];
    const days = spendByDay(rows, at('2026-11-01T09:00:00Z'), at('2026-11-03T00:00:00Z'));
    expect(days.map(({ day, total }) => [day, total])).toEqual([
      ['2026-11-01', 2n],
      ['2026-11-02', 0n],
      ['2026-11-03', 8n],
    ]);
    expect(productsIn(days).map(([product]) => product)).toEqual(['rentals', 'volumes', 'inference']);
  });

  it('keep amounts beyond the precision of a number', () => {
    const rows = [row('2026-11-01', { rentals: '9007199254740993' })];
    const moment = at('2026-11-01T00:00:00Z');
    expect(spendByDay(rows, moment, moment)[0]?.byProduct.rentals).toBe(9_007_199_254_740_993n);
  });
});

describe('spendScale', () => {
  it('has round amounts up to at least the highest day', () => {
    const moment = at('2026-11-01T00:00:00Z');
    const scaleOf = (nano: string) =>
      spendScale(spendByDay([row('2026-11-01', { rentals: nano })], moment, moment));
    expect(scaleOf('173200000000')).toEqual({
      top: 200_000_000_000n,
      labels: ['$200', '$150', '$100', '$50', '$0'],
    });
    const { labels } = scaleOf('3');
    expect(labels.length).toBeGreaterThan(3);
    expect(new Set(labels).size).toBe(labels.length);
  });
});

describe('sums', () => {
  const now = at('2026-11-30T21:30:00Z');
  const rows = [
    row('2026-10-31', { rentals: '1000' }),
    row('2026-11-01', { rentals: '20' }),
    row('2026-11-30', { inference: '3' }),
  ];
  const days = spendByDay(rows, at('2026-10-31T00:00:00Z'), now);

  it('cover only today and the current month', () => {
    expect(spendSums(days, 0, now)).toEqual({ today: 3n, month: 23n, projected: 23n, hoursLeft: 3 });
  });

  it('project current costs to the end of the month, counting a started hour as whole', () => {
    expect(spendSums(days, 2.49, now).projected).toBe(23n + 3n * 2_490_000_000n);
  });

  it('handle the end of a year', () => {
    expect(spendSums([], 1, at('2026-12-31T23:00:00Z')).projected).toBe(1_000_000_000n);
    expect(new Date(monthStart(at('2026-12-31T23:00:00Z'))).toISOString()).toBe('2026-12-01T00:00:00.000Z');
  });
});
