import { expect, test } from 'vitest';
import { dailyUsd, daysOfPeriod } from './daily-usd.ts';

test('the last day of a period is the day before its exclusive end', () => {
  expect(daysOfPeriod({ from: '2026-11-01T00:00:00.000Z', until: '2026-11-20T00:00:00.000Z' })).toEqual({
    firstDay: '2026-11-01',
    lastDay: '2026-11-19',
  });
});

test('a period until now includes today', () => {
  expect(daysOfPeriod({ from: '2026-11-01T00:00:00.000Z', until: '2026-11-19T04:36:36.000Z' })).toEqual({
    firstDay: '2026-11-01',
    lastDay: '2026-11-19',
  });
});

test('a period that has just started has one day', () => {
  expect(daysOfPeriod({ from: '2026-11-01T00:00:00.000Z', until: '2026-11-01T00:00:00.000Z' })).toEqual({
    firstDay: '2026-11-01',
    lastDay: '2026-11-01',
  });
});

test('dailyUsd has every day of the range, and zero for days without an amount', () => {
  const { seconds, usd } = dailyUsd(new Map([['2026-11-16', '2000000000']]), {
    firstDay: '2026-11-14',
    lastDay: '2026-11-16',
  });
  expect(seconds.map((second) => new Date(second * 1000).toISOString().slice(0, 10))).toEqual([
    '2026-11-14',
    '2026-11-15',
    '2026-11-16',
  ]);
  expect(usd).toEqual([0, 0, 2]);
});
