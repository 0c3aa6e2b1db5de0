import { expect, it } from 'vitest';
import { dayText, monthText, shortDayText } from './day-text.ts';

it('days and months are named in UTC, even if the local day differs', () => {
  const at = '2026-11-01T00:00:00.000Z';
  expect(dayText(at, 'en-GB')).toBe('1 Nov 2026');
  expect(dayText('2026-11-01', 'en-GB')).toBe('1 Nov 2026');
  expect(shortDayText(at, 'en-GB')).toBe('1 Nov');
  expect(monthText(at, 'en-GB')).toBe('November 2026');
});
