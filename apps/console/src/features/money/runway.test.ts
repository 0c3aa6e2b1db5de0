import { describe, expect, it } from 'vitest';
import { overdraftNano, runwayFigure, runwayLevel, runwayEnd, runwayText, balanceWarning } from './runway.ts';

const monday = Date.UTC(2026, 10, 16, 9, 30);
const zone = { locale: 'en-GB', timeZone: 'UTC' };

describe('runway', () => {
  it.each([
    [null, 'fine'],
    [86_401, 'fine'],
    [86_400, 'day'],
    [3_600, 'hour'],
    [900, 'quarter'],
    [121, 'quarter'],
    [120, 'empty'],
    [0, 'empty'],
  ] as const)('%s seconds is level %s', (seconds, level) => {
    expect(runwayLevel(seconds)).toBe(level);
  });

  it('shows weekday and time within the next six days', () => {
    expect(runwayText(28 * 3_600 + 30 * 60, monday, zone)).toBe('Lasts until Tuesday 14:00.');
  });

  it('shows the date from the sixth day on', () => {
    expect(runwayText(6 * 86_400, monday, zone)).toBe('Lasts until 22 Nov 2026 09:30.');
  });

  it('uses the given time zone', () => {
    const tokyo = { locale: 'en-GB', timeZone: 'Asia/Tokyo' };
    expect(runwayText(15 * 3_600, monday, tokyo)).toBe('Lasts until Tuesday 09:30.');
  });

  it('is unlimited without spending, and has no date when it is more than a year away', () => {
    expect(runwayText(null, monday, zone)).toBe('Nothing is billed by the hour.');
    expect(runwayText(Number.MAX_SAFE_INTEGER, monday, zone)).toBe('Lasts more than a year.');
    expect(runwayEnd(Number.MAX_SAFE_INTEGER, monday)).toBeNull();
  });
});

describe('balanceWarning', () => {
  const well = { frozen: false, runwaySeconds: null, availableNanoUsd: '1' };

  it('returns null if the balance is fine', () => {
    expect(balanceWarning(well, 'live')).toBeNull();
  });

  it('reports a frozen balance first', () => {
    expect(balanceWarning({ ...well, frozen: true, runwaySeconds: 0 }, 'live')?.title).toBe(
      'Your balance is frozen.',
    );
  });

  it('becomes more severe as the runway shrinks', () => {
    const tone = (runwaySeconds: number) => balanceWarning({ ...well, runwaySeconds }, 'live')?.tone;
    expect([tone(90_000), tone(80_000), tone(3_000), tone(60)]).toEqual([undefined, 'warn', 'bad', 'bad']);
  });

  it('reports an empty balance in live mode only', () => {
    const none = { ...well, availableNanoUsd: '0' };
    expect(balanceWarning(none, 'live')?.title).toBe('Your balance is empty.');
    expect(balanceWarning(none, 'test')).toBeNull();
  });
});

it.each([
  [null, 'Unlimited'],
  [7_200, '2 h'],
  [366 * 86_400, 'Over a year'],
] as const)('a runway of %s seconds is shown as %s', (seconds, text) => {
  expect(runwayFigure(seconds)).toBe(text);
});

it('overdraftNano is exact', () => {
  expect(overdraftNano({ maxOverdraftCents: 2_501 })).toBe(25_010_000_000n);
});
