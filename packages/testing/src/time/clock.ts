import { SimulatedClock, systemClock, type Clock } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';

/** 2026-01-01T00:00:00Z: a fixed start, so that tests can contain exact dates. */
export const TEST_START_MS = 1_767_225_600_000;

export function testClock(startMs: number = TEST_START_MS): SimulatedClock {
  return new SimulatedClock(startMs);
}

/** Simulated time with real waits, so that a transaction's retry does not wait for the test to advance the clock. */
export function hybridClock(simulated: SimulatedClock): Clock {
  return {
    nowMs: () => simulated.nowMs(),
    now: () => simulated.now(),
    monotonicMs: () => systemClock.monotonicMs(),
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
    after: (ms, action) => systemClock.after(ms, action),
  };
}

/** The system's clock plus an offset. It always advances, so that rows of a slow test are in its past. */
export interface OffsetClock extends Pick<Clock, 'nowMs'> {
  advance(ms: number): void;
  /** Removes the offset. */
  reset(): void;
}

export function offsetClock(): OffsetClock {
  let aheadMs = 0;
  return {
    nowMs: () => systemClock.nowMs() + aheadMs,
    advance: (ms) => void (aheadMs += ms),
    reset: () => void (aheadMs = 0),
  };
}

/** The same database with another clock, inside and outside transactions. */
export function databaseWithClock(db: Db, time: Date | Pick<Clock, 'nowMs'>): Db {
  const nowMs = (): number => (time instanceof Date ? time.getTime() : time.nowMs());
  const clock: Clock = { ...systemClock, nowMs, now: () => new Date(nowMs()) };
  const at = <T extends object>(of: T, changed: Partial<T>): T =>
    Object.create(
      of,
      Object.fromEntries(Object.entries(changed).map(([name, value]) => [name, { value }])),
    ) as T;
  return at(db, {
    clock,
    transaction: (options, work) => db.transaction(options, (tx: Tx) => work(at(tx, { clock }))),
  });
}
