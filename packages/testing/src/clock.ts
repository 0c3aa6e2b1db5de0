import { SimulatedClock } from '@millrace/platform/clock';

/** 2026-01-01T00:00:00Z: a fixed start, so that every date in a test can be written down. */
export const TEST_START_MS = 1_767_225_600_000;

export function testClock(startMs: number = TEST_START_MS): SimulatedClock {
  return new SimulatedClock(startMs);
}
