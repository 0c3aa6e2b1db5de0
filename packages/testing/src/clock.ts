import { SimulatedClock, systemClock, type Clock } from '@millrace/platform/clock';

/** 2026-01-01T00:00:00Z: a fixed start, so that every date in a test can be written down. */
export const TEST_START_MS = 1_767_225_600_000;

export function testClock(startMs: number = TEST_START_MS): SimulatedClock {
  return new SimulatedClock(startMs);
}

/**
 * The time of a test with real waits: for a database whose transactions may have to run again. They wait a little
 * before that, and a clock that nobody moves would keep them waiting for ever.
 */
export function hybridClock(simulated: SimulatedClock): Clock {
  return {
    nowMs: () => simulated.nowMs(),
    now: () => simulated.now(),
    monotonicMs: () => systemClock.monotonicMs(),
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
    after: (ms, action) => systemClock.after(ms, action),
  };
}
