import { SimulatedClock, systemClock, type Clock } from '@millrace/platform/clock';
import type { Db, Tx } from '@millrace/platform/db';

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

/** Ahead of the system's clock by as much as a test says. It never stands still: what a slow test has just written lies in its past. */
export interface OffsetClock extends Pick<Clock, 'nowMs'> {
  advance(ms: number): void;
  /** Shows the present again. */
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

/** The same database at another time: the clock of its transactions, and outside them, is the one given. */
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
