import type { Timer } from '../clock/index.ts';
import { NotReadyError, startLoop, type Lifecycle } from '../lifecycle/index.ts';
import type { Logger } from '../log/index.ts';
import type { Db } from './db.ts';

/** How often a process without transactions reads the clock of the database. */
const READ_EVERY_MS = 5_000;

/** Compares the clocks also while the process is idle, and makes the result a required readiness check. */
export function watchClock(
  db: Pick<Db, 'ping' | 'clockProblem'>,
  { clock, lifecycle, log }: { readonly clock: Timer; readonly lifecycle: Lifecycle; readonly log: Logger },
): void {
  const loop = startLoop(
    { name: 'compare clocks', clock, log, idleMs: READ_EVERY_MS, maxBackoffMs: READ_EVERY_MS },
    async () => {
      await db.ping();
      return 'idle';
    },
  );
  lifecycle.onDrain('consumers', 'compare clocks', () => loop.stop());
  lifecycle.addCheck({
    name: 'clock',
    required: true,
    check: async () => {
      const problem = db.clockProblem();
      if (problem !== null) throw new NotReadyError(problem);
    },
  });
}
