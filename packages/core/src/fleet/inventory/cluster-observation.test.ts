import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  withHeartbeat,
  isLeaseFree,
  isObservedSince,
  silenceStatus,
  silenceMs,
  type Observation,
} from './cluster-observation.ts';

const EVERY_MS = 10_000;
const SILENT_MS = 90_000;
const start = Date.UTC(2026, 0, 1);
const at = (seconds: number): Date => new Date(start + seconds * 1_000);

const fresh: Observation = { lastSeenAt: null, watchingSince: null, heartbeatAt: null };

/** Polls at these seconds an engine that never responds; returns the seconds at which it was silent. */
function silentAt(watch: Observation, looks: readonly number[]): number[] {
  const silent: number[] = [];
  let current = watch;
  for (const second of looks) {
    const now = at(second);
    const next = withHeartbeat(current, now, EVERY_MS);
    if (silenceStatus(next, now, SILENT_MS) === 'silent') silent.push(second);
    current = next;
  }
  return silent;
}

const every10 = (from: number, to: number): number[] =>
  Array.from({ length: (to - from) / 10 + 1 }, (_, index) => from + index * 10);

describe('silenceStatus', () => {
  it('returns silent after 90 s of polling without a response, counted from the last response', () => {
    const seen = { lastSeenAt: at(5), watchingSince: at(0), heartbeatAt: at(0) };
    expect(silentAt(seen, every10(0, 100))).toEqual([100]);
  });

  it('counts from the first poll if the engine never responded', () => {
    expect(silentAt(fresh, every10(0, 100))).toEqual([90, 100]);
  });

  it('does not count time without polling', () => {
    const before = { lastSeenAt: at(0), watchingSince: at(-1_000), heartbeatAt: at(0) };
    expect(silentAt(before, every10(600, 680))).toEqual([]);
    expect(silentAt(before, every10(600, 690))).toEqual([690]);
  });

  it('continues to count over a gap of up to two heartbeats, as when another worker takes over', () => {
    const before = { lastSeenAt: at(0), watchingSince: at(-1_000), heartbeatAt: at(0) };
    expect(silentAt(before, [20, 40, 60, 80, 100])).toEqual([100]);
    expect(silentAt(before, [21, 42, 63, 84, 105])).toEqual([]);
  });

  it('restarts when the clock is set back, without waiting for it to catch up', () => {
    const before = { lastSeenAt: at(3_600), watchingSince: at(0), heartbeatAt: at(3_600) };
    expect(silentAt(before, every10(0, 80))).toEqual([]);
    expect(silentAt(before, every10(0, 90))).toEqual([90]);
  });

  it('is never based on more time than the observation has lasted, whatever is stored', () => {
    const instant = fc.option(
      fc.integer({ min: -10_000, max: 10_000 }).map((second) => at(second)),
      { nil: null },
    );
    fc.assert(
      fc.property(
        instant,
        instant,
        instant,
        fc.integer({ min: -5_000, max: 5_000 }),
        (seen, since, heartbeatAt, second) => {
          const now = at(second);
          const next = withHeartbeat({ lastSeenAt: seen, watchingSince: since, heartbeatAt }, now, EVERY_MS);
          const silence = silenceMs(next, now);
          expect(silence).toBeGreaterThanOrEqual(0);
          expect(silence).toBeLessThanOrEqual(now.getTime() - next.watchingSince.getTime());
          if (heartbeatAt === null || now.getTime() - heartbeatAt.getTime() > 2 * EVERY_MS)
            expect(silence).toBe(0);
        },
      ),
    );
  });
});

describe('observer leases and recency', () => {
  it('a lease is free once it has expired or if its end is implausible', () => {
    expect(isLeaseFree(null, at(0), 30_000)).toBe(true);
    expect(isLeaseFree(at(0), at(0), 30_000)).toBe(true);
    expect(isLeaseFree(at(30), at(0), 30_000)).toBe(false);
    expect(isLeaseFree(at(3_600), at(0), 30_000)).toBe(true);
  });

  it('a cluster counts as observed for five minutes after a heartbeat', () => {
    expect(isObservedSince(at(0), at(300), 300_000)).toBe(true);
    expect(isObservedSince(at(0), at(301), 300_000)).toBe(false);
    expect(isObservedSince(null, at(0), 300_000)).toBe(false);
  });
});
