import { describe, expect, test } from 'vitest';
import { dayText, daysBetween, parseTimestamp, timestampText } from './timestamps.ts';

describe('timestamps', () => {
  test('are shown in UTC', () => {
    expect(timestampText('2026-11-14T09:30:00.123Z')).toBe('2026-11-14 09:30:00Z');
    expect(dayText('2026-11-14T09:30:00.123Z')).toBe('2026-11-14');
  });

  test.each([
    ['2026-08-01', '2026-08-01T00:00:00.000Z'],
    ['2026-08-01T12:00:00Z', '2026-08-01T12:00:00.000Z'],
    ['2026-08-01T12:00+02:00', '2026-08-01T10:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ])('%s is parsed as %s', (typed, moment) => expect(parseTimestamp('--from', typed)).toBe(moment));

  test.each([
    '',
    'yesterday',
    '2026-8-1',
    '2026-02-30',
    '2026-13-01',
    '2026-08-01T12:00',
    '2026-08-01 12:00:00Z',
  ])('%j is refused with the expected format', (typed) =>
    expect(() => parseTimestamp('--from', typed)).toThrow(expect.objectContaining({ name: 'UsageError' })),
  );

  test('daysBetween includes days without data', () => {
    expect(daysBetween('2026-02-27', '2026-03-02')).toEqual([
      '2026-03-02',
      '2026-03-01',
      '2026-02-28',
      '2026-02-27',
    ]);
    expect(daysBetween('2026-03-02', '2026-03-01')).toEqual([]);
  });
});
