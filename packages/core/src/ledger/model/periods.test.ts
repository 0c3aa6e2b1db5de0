import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { periodAt } from './periods.ts';

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

describe('periodAt', () => {
  it.each([
    ['hour', '2026-06-10T12:34:56.789Z', '2026-06-10T12:00:00.000Z', '2026-06-10T13:00:00.000Z'],
    ['hour', '2026-06-10T12:00:00.000Z', '2026-06-10T12:00:00.000Z', '2026-06-10T13:00:00.000Z'],
    ['day', '2026-06-10T23:59:59.999Z', '2026-06-10T00:00:00.000Z', '2026-06-11T00:00:00.000Z'],
    ['day', '2026-06-10T00:00:00.000Z', '2026-06-10T00:00:00.000Z', '2026-06-11T00:00:00.000Z'],
    ['week', '2026-06-10T12:00:00.000Z', '2026-06-08T00:00:00.000Z', '2026-06-15T00:00:00.000Z'],
    ['week', '2026-06-08T00:00:00.000Z', '2026-06-08T00:00:00.000Z', '2026-06-15T00:00:00.000Z'],
    ['week', '2026-06-07T23:59:59.999Z', '2026-06-01T00:00:00.000Z', '2026-06-08T00:00:00.000Z'],
    ['month', '2026-12-31T23:59:59.999Z', '2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'],
    ['month', '2028-02-29T08:00:00.000Z', '2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'],
  ] as const)('%s at %s is from %s to %s', (period, at, start, end) => {
    const bounds = periodAt(period, Date.parse(at));
    expect([iso(bounds.startMs), iso(bounds.endMs)]).toEqual([start, end]);
  });

  it('of a total starts at the given time and never ends', () => {
    expect(periodAt('total', 123)).toEqual({ startMs: 123, endMs: null });
  });

  it('contains the given time, and the next period starts where it ends', () => {
    const instant = fc.integer({ min: Date.UTC(2024, 0, 1), max: Date.UTC(2100, 0, 1) });
    fc.assert(
      fc.property(instant, fc.constantFrom('hour', 'day', 'week', 'month' as const), (at, period) => {
        const { startMs, endMs } = periodAt(period, at);
        expect(startMs <= at && endMs !== null && at < endMs).toBe(true);
        expect(periodAt(period, endMs ?? 0).startMs).toBe(endMs);
      }),
    );
  });
});
