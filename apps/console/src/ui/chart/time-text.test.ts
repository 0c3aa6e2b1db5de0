import { expect, test } from 'vitest';
import { timeTexts } from './time-text.ts';

const midnight = Date.parse('2026-11-18T00:00:00Z') / 1000;

test('ticks are times of day, with the date at midnight', () => {
  const { tick } = timeTexts('line', 'en-GB', 'UTC');
  expect([tick(midnight, 21_600), tick(midnight + 21_600, 21_600), tick(midnight, 86_400)]).toEqual([
    '18 Nov',
    '06:00',
    '18 Nov',
  ]);
  expect(tick(midnight + 15, 15)).toBe('00:00:15');
});

test('a bar is named by its UTC day in every time zone', () => {
  expect(timeTexts('bars', 'en-GB', 'America/New_York').point(midnight)).toBe('18 Nov 2026');
  expect(timeTexts('line', 'en-GB', 'America/New_York').point(midnight)).toBe('17 Nov 2026, 19:00');
});
