import { describe, expect, test } from 'vitest';
import { usagePeriod, parseUsageSearch, viewOf } from './search.ts';

const nowMs = Date.parse('2026-11-16T02:30:00Z');
const days = (search: Parameters<typeof usagePeriod>[0]): string => {
  const { firstDay, lastDay } = usagePeriod(search, nowMs);
  return `${firstDay} to ${lastDay}`;
};

test('links to a request or batch open the requests, other links the spending', () => {
  expect(viewOf({})).toBe('spending');
  expect(viewOf({ request: 'req_1' })).toBe('requests');
  expect(viewOf({ batch: 'bat_1' })).toBe('requests');
  expect(viewOf({ request: 'req_1', view: 'spending' })).toBe('spending');
});

test('parseUsageSearch drops unknown values', () => {
  expect(parseUsageSearch({ by: 'weather', range: '8d', from: 'x', to: '2026-13-40', request: '' })).toEqual(
    {},
  );
  const whole = {
    by: 'model',
    range: 'days',
    from: '2026-11-01',
    to: '2026-11-05',
    request: 'req_1',
    batch: 'bat_1',
  };
  expect(parseUsageSearch(whole)).toEqual(whole);
});

describe('days', () => {
  test.each([
    [{}, '2026-10-17 to 2026-11-16'],
    [{ range: '7d' }, '2026-11-10 to 2026-11-16'],
    [{ range: 'month' }, '2026-11-01 to 2026-11-16'],
    [{ range: 'last-month' }, '2026-10-01 to 2026-10-31'],
    [{ range: 'days', from: '2026-11-05', to: '2026-11-01' }, '2026-11-01 to 2026-11-05'],
    [{ range: 'days', from: '2026-11-05' }, '2026-11-05 to 2026-11-16'],
    [{ range: 'days', to: '2026-11-05' }, '2026-10-06 to 2026-11-05'],
    [{ range: 'days', from: '2027-01-01', to: '2027-02-01' }, '2026-11-16 to 2026-11-16'],
  ] as const)('%j covers %s', (search, text) => expect(days(search)).toBe(text));

  test('never exceeds the limit of the API', () => {
    const { from, until } = usagePeriod({ range: 'days', from: '2020-01-01', to: '2026-11-16' }, nowMs);
    expect(from).toBe('2025-11-16T00:00:00.000Z');
    expect(until).toBe('2026-11-17T00:00:00.000Z');
  });

  test('handles the last month in January', () => {
    const { firstDay, lastDay } = usagePeriod({ range: 'last-month' }, Date.parse('2026-01-10T00:00:00Z'));
    expect(`${firstDay} to ${lastDay}`).toBe('2025-12-01 to 2025-12-31');
  });
});
