import { describe, expect, test } from 'vitest';
import {
  dailyChart,
  sortLines,
  toUsageLine,
  productLines,
  shareText,
  sumLines,
  usageCommand,
} from './sums.ts';
import type { UsageRow } from '../money/spend.ts';

const row = (group: string, inference: string, rentals = '0'): UsageRow => ({
  group,
  amountNanoUsd: (BigInt(inference) + BigInt(rentals)).toString(),
  products: { rentals, volumes: '0', instances: '0', inference, other: '0' },
  gpuSeconds: 10,
  volumeGbSeconds: 3,
  requestCount: 2,
  tokensPrompt: 100,
  tokensCompletion: 7,
});
const rows = [row('2026-11-16', '9007199254740993'), row('2026-11-14', '1', '2')];

test('sumLines is exact beyond the precision of a number', () => {
  expect(sumLines(rows.map(toUsageLine))).toEqual({
    group: '',
    amount: 9_007_199_254_740_996n,
    gpuSeconds: 20,
    gbSeconds: 6,
    requests: 4,
    tokensIn: 200,
    tokensOut: 14,
  });
  expect(sumLines([]).amount).toBe(0n);
});

test('productLines has the same total and omits products without charges', () => {
  const lines = productLines(rows);
  expect(lines.map(({ group, amount }) => [group, amount])).toEqual([
    ['Rentals', 2n],
    ['Inference', 9_007_199_254_740_994n],
  ]);
  expect(sumLines(lines).amount).toBe(sumLines(rows.map(toUsageLine)).amount);
});

test('sortLines keeps days in order and sorts others by cost', () => {
  const lines = [row('b', '1'), row('a', '1'), row('c', '5')].map(toUsageLine);
  expect(sortLines(lines, 'model').map(({ group }) => group)).toEqual(['c', 'a', 'b']);
  expect(sortLines(lines, 'day')).toBe(lines);
});

test('dailyChart includes every day', () => {
  const range = { firstDay: '2026-11-14', lastDay: '2026-11-16' };
  const { usd } = dailyChart([row('2026-11-16', '2000000000')], range);
  expect(usd).toEqual([0, 0, 2]);
});

describe('words', () => {
  test('shareText never shows a positive share as zero', () => {
    expect(shareText(1n, 1_000n)).toBe('under 1 %');
    expect(shareText(0n, 1_000n)).toBe('0 %');
    expect(shareText(999n, 1_000n)).toBe('99 %');
  });

  test('usageCommand matches the page', () => {
    const period = {
      firstDay: '2026-11-01',
      lastDay: '2026-11-16',
      from: '2026-11-01T00:00:00.000Z',
      until: '2026-11-17T00:00:00.000Z',
    };
    expect(usageCommand('model', period)).toBe(
      'millrace usage --by model --from 2026-11-01 --until 2026-11-17',
    );
    expect(usageCommand('product', period)).toContain('--by day');
  });
});
