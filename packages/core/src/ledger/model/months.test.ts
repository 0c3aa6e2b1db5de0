import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bookingTimeMs, monthAfter, MONTH_CLOSED_AFTER_MS, MONTH_STAYS_OPEN_MS, monthOf } from './months.ts';

const ms = (iso: string): number => Date.parse(iso);
const entryTime = (usedBy: string | undefined, now: string): string =>
  new Date(bookingTimeMs(usedBy === undefined ? undefined : new Date(usedBy), ms(now))).toISOString();

describe('bookingTimeMs', () => {
  it.each([
    ['2026-01-31T23:59:00.000Z', '2026-01-31T23:59:30.000Z', '2026-01-31T23:59:30.000Z'],
    ['2026-01-31T23:59:00.000Z', '2026-02-01T00:00:00.000Z', '2026-01-31T23:59:59.999Z'],
    ['2026-02-01T00:00:00.000Z', '2026-02-01T02:59:59.999Z', '2026-01-31T23:59:59.999Z'],
    ['2026-02-01T00:00:00.001Z', '2026-02-01T02:59:59.999Z', '2026-02-01T02:59:59.999Z'],
    ['2026-01-31T12:00:00.000Z', '2026-02-01T03:00:00.000Z', '2026-02-01T03:00:00.000Z'],
    ['2025-11-30T12:00:00.000Z', '2026-01-01T01:00:00.000Z', '2025-12-31T23:59:59.999Z'],
    [undefined, '2026-02-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
  ])('with usage until %s and posting at %s is %s', (usedBy, now, expected) => {
    expect(entryTime(usedBy, now)).toBe(expected);
  });

  it('is never in a closed month, nor in the future', () => {
    const instant = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2040, 0, 1) });
    fc.assert(
      fc.property(instant, fc.integer({ min: -5_000_000_000, max: 5_000_000_000 }), (nowMs, offMs) => {
        const at = bookingTimeMs(new Date(nowMs + offMs), nowMs);
        expect(at <= nowMs).toBe(true);
        const endMs = monthAfter(monthOf(new Date(at))).getTime();
        expect(nowMs < endMs + MONTH_STAYS_OPEN_MS && nowMs < endMs + MONTH_CLOSED_AFTER_MS).toBe(true);
      }),
    );
  });
});
