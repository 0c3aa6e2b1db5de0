import { describe, expect, it } from 'vitest';
import { overdraftNano, runwayLevel, runwayEnd, runwayText, balanceWarning } from './runway.ts';

const monday = Date.UTC(2026, 10, 16, 9, 30);
const zone = { locale: 'en-GB', timeZone: 'UTC' };

describe('how long the money lasts', () => {
  it.each([
    [null, 'fine'],
    [86_401, 'fine'],
    [86_400, 'day'],
    [3_600, 'hour'],
    [900, 'quarter'],
    [121, 'quarter'],
    [120, 'empty'],
    [0, 'empty'],
  ] as const)('%s seconds are on the rung %s', (seconds, level) => {
    expect(runwayLevel(seconds)).toBe(level);
  });

  it('names the day of the week and the time while it comes only once', () => {
    expect(runwayText(28 * 3_600 + 30 * 60, monday, zone)).toBe('At this pace until Tuesday 14:00.');
  });

  it('names the date from the sixth day on', () => {
    expect(runwayText(6 * 86_400, monday, zone)).toBe('At this pace until 22 Nov 2026 09:30.');
  });

  it('is in the zone of the reader', () => {
    const tokyo = { locale: 'en-GB', timeZone: 'Asia/Tokyo' };
    expect(runwayText(15 * 3_600, monday, tokyo)).toBe('At this pace until Tuesday 09:30.');
  });

  it('has no end when nothing is spent, and no date when it is too far away', () => {
    expect(runwayText(null, monday, zone)).toContain('No end');
    expect(runwayText(Number.MAX_SAFE_INTEGER, monday, zone)).toBe('At this pace for more than a year.');
    expect(runwayEnd(Number.MAX_SAFE_INTEGER, monday)).toBeNull();
  });
});

describe('what one is warned of', () => {
  const well = { frozen: false, runwaySeconds: null, availableNanoUsd: '1' };

  it('is nothing while all is well', () => {
    expect(balanceWarning(well, 'live')).toBeNull();
  });

  it('is that money is frozen before anything else', () => {
    expect(balanceWarning({ ...well, frozen: true, runwaySeconds: 0 }, 'live')?.title).toBe(
      'Your money is frozen.',
    );
  });

  it('becomes graver as the end comes nearer', () => {
    const tone = (runwaySeconds: number) => balanceWarning({ ...well, runwaySeconds }, 'live')?.tone;
    expect([tone(90_000), tone(80_000), tone(3_000), tone(60)]).toEqual([undefined, 'warn', 'bad', 'bad']);
  });

  it('says that there is nothing to spend, but not in test mode, which is free', () => {
    const none = { ...well, availableNanoUsd: '0' };
    expect(balanceWarning(none, 'live')?.title).toBe('There is nothing to spend.');
    expect(balanceWarning(none, 'test')).toBeNull();
  });
});

it('an overdraft is exact', () => {
  expect(overdraftNano({ maxOverdraftCents: 2_501 })).toBe(25_010_000_000n);
});
