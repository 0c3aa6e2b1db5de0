import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RemoteClock, SimulatedClock } from './index.ts';

const START_MS = Date.UTC(2026, 0, 1);

/** Reads a remote clock that is `aheadMs` ahead; the request takes `thereMs`, the response `backMs`. */
async function read(
  remote: RemoteClock,
  local: SimulatedClock,
  { aheadMs, thereMs, backMs }: { aheadMs: number; thereMs: number; backMs: number },
): Promise<void> {
  const sentMs = local.monotonicMs();
  await local.advance(thereMs);
  const remoteMs = START_MS + aheadMs + local.monotonicMs();
  await local.advance(backMs);
  remote.take({ remoteMs, sentMs, receivedMs: local.monotonicMs() });
}

describe('RemoteClock', () => {
  it('throws before its first reading', () => {
    const remote = new RemoteClock('database', new SimulatedClock(START_MS));
    expect(() => remote.now()).toThrow('The time of the database is not known yet');
    expect(remote.skew()).toBeNull();
    expect(remote.isKnown).toBe(false);
  });

  it('returns the remote time regardless of the wall clock of the process', async () => {
    const local = new SimulatedClock(START_MS);
    const remote = new RemoteClock('database', local);
    await read(remote, local, { aheadMs: 0, thereMs: 1, backMs: 0 });
    local.stepWallClock(40 * 86_400_000);
    await local.advance(1_000);
    expect(remote.nowMs()).toBe(START_MS + 1_001);
  });

  it('is never ahead of the remote clock, and behind it by at most the fastest response time', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: -1e9, max: 1e9 }),
        fc.array(fc.record({ thereMs: fc.nat(3_000), backMs: fc.nat(3_000) }), {
          minLength: 1,
          maxLength: 8,
        }),
        async (aheadMs, trips) => {
          const local = new SimulatedClock(START_MS);
          const remote = new RemoteClock('database', local);
          for (const trip of trips) await read(remote, local, { aheadMs, ...trip });
          const trueMs = START_MS + aheadMs + local.monotonicMs();
          const lagMs = trueMs - remote.nowMs();
          // The bounds widen by 0.5 ms per second between two readings.
          const driftMs = 1 + local.monotonicMs() * 0.0005;
          expect(lagMs).toBeGreaterThanOrEqual(0);
          expect(lagMs).toBeLessThanOrEqual(Math.min(...trips.map(({ backMs }) => backMs)) + driftMs);
          const skew = remote.skew();
          expect(skew?.fromMs).toBeLessThanOrEqual(-aheadMs);
          expect(skew?.toMs).toBeGreaterThanOrEqual(-aheadMs);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('follows a remote clock that was set, from the next reading on', async () => {
    const local = new SimulatedClock(START_MS);
    const remote = new RemoteClock('database', local);
    await read(remote, local, { aheadMs: 0, thereMs: 1, backMs: 1 });
    await read(remote, local, { aheadMs: 3_600_000, thereMs: 1, backMs: 1 });
    expect(remote.skew()).toEqual({ fromMs: -3_600_001, toMs: -3_599_999 });
    await read(remote, local, { aheadMs: -3_600_000, thereMs: 1, backMs: 1 });
    expect(remote.skew()?.fromMs).toBe(3_599_999);
  });

  it('returns a clock for one reading that ignores later readings', async () => {
    const local = new SimulatedClock(START_MS);
    const remote = new RemoteClock('database', local);
    const taken = remote.take({ remoteMs: 5_000, sentMs: 0, receivedMs: 0 });
    await local.advance(10);
    remote.take({ remoteMs: 9_000_000, sentMs: 10, receivedMs: 10 });
    expect([taken.nowMs(), remote.nowMs()]).toEqual([5_010, 9_000_000]);
  });
});
