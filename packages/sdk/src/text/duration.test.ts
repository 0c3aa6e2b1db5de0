import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { elapsedText, exactDuration, parseDuration, relativeText, approximateDuration } from './duration.ts';

describe('durations', () => {
  it.each([
    [0, '0 s', 'less than 1 s'],
    [59, '59 s', '59 s'],
    [3_600, '1 h', '1 h'],
    [3_725, '1 h 2 min 5 s', 'about 1 h 2 min'],
    [273_600, '3 d 4 h', '3 d 4 h'],
    [273_605, '3 d 4 h 5 s', 'about 3 d 4 h'],
  ])('%s seconds are %s, or %s as an estimate', (seconds, exact, rough) => {
    expect(exactDuration(seconds)).toBe(exact);
    expect(approximateDuration(seconds)).toBe(rough);
  });

  it('say "about" whenever something is omitted', () => {
    fc.assert(
      fc.property(fc.nat(10_000_000), (seconds) => {
        const rough = approximateDuration(seconds);
        if (rough.startsWith('about ') || seconds === 0) return;
        expect(parseDuration(rough)).toBe(seconds);
      }),
    );
  });

  it('are parsed in the shown format and in typed formats', () => {
    fc.assert(
      fc.property(fc.nat(), (seconds) => {
        expect(parseDuration(exactDuration(seconds))).toBe(seconds);
      }),
    );
    expect(parseDuration('90')).toBe(90);
    expect(parseDuration('45s')).toBe(45);
    expect(parseDuration('30m')).toBe(1_800);
    expect(parseDuration(' 1d12h ')).toBe(129_600);
    for (const wrong of ['', 'h', '2 fortnights', '-5m', '1.5h', '2h x'])
      expect(parseDuration(wrong), wrong).toBeNull();
  });

  it('are shown in tenths while they are short', () => {
    expect(elapsedText(0)).toBe('0.0 s');
    expect(elapsedText(1_240)).toBe('1.2 s');
    expect(elapsedText(9_960)).toBe('10 s');
    expect(elapsedText(61_000)).toBe('1 min 1 s');
    expect(elapsedText(-5)).toBe('0.0 s');
  });

  it('relativeText distinguishes past and future', () => {
    const now = Date.parse('2026-08-01T12:00:00.000Z');
    expect(relativeText('2026-08-01T11:55:00.000Z', now)).toBe('5 min ago');
    expect(relativeText('2026-08-01T07:48:21.000Z', now)).toBe('4 h ago');
    expect(relativeText('2026-08-01T11:59:59.500Z', now)).toBe('less than 1 s ago');
    expect(relativeText('2026-08-04T16:00:05.000Z', now)).toBe('in about 3 d 4 h');
  });
});
