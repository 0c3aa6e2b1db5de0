import type { Db } from '@millrace/platform/db';
import { toUuid } from '@millrace/platform/ids';
import { createItemRunner, defineLoop } from '@millrace/platform/loops';
import { counter } from '@millrace/platform/telemetry';
import { reconcileRental } from './reconcile-rental.ts';
import type { ReconcileDeps } from './reconcile-deps.ts';
import { enqueueReconcile, scheduleSoon, RENTAL_OVERDUE_MS } from '../model/rental-transitions.ts';
import { type Rental, rentalsActor } from '../model/rental.ts';
import { listDueRentals, listStuckRentals, claimDueRentals } from '../model/rentals.store.ts';

const enqueuedCounter = counter('millrace_rentals_redriven_total');

const dueLoop = defineLoop({ name: 'call for due rentals', over: 'organisations' });

/** Enqueues rentals with due actions, ended waits or lost commands. Each is claimed by one of the concurrent sweeps. */
export async function enqueueDueRentals(
  db: Db,
  limit: number,
  { log }: Pick<ReconcileDeps, 'log'>,
): Promise<number> {
  const ids = await listDueRentals(db, dueLoop, { now: db.clock.now(), limit });
  let count = 0;
  await createItemRunner(dueLoop, { db, log }).runBatch(ids, {
    key: (id) => toUuid(id),
    together: async (some) => {
      count += await db.transaction({ name: 'redrive rentals', isolation: 'read committed' }, async (tx) => {
        const now = tx.clock.now();
        // A command is not progress, so the deadline stays unchanged.
        const due = await claimDueRentals(tx, { now, ids: some, ...scheduleSoon(now) });
        for (const rental of due) await enqueueReconcile(tx, rental, rentalsActor);
        return due.length;
      });
    },
  });
  enqueuedCounter.add(count);
  return count;
}

const recoveredCounter = counter('millrace_rentals_forsaken_total');

/** A rental whose handler has not run for this long is reconciled directly. */
const STUCK_MS = 60_000;
/** The same for rentals to be disconnected, which is promised within seconds. */
const DISCONNECT_LATE_MS = 2_000;
const ROUNDS_MAX = 50;

const recoveryLoop = defineLoop({
  name: 'recover stuck rentals',
  over: 'organisations',
  timeoutMs: 45_000,
  atOnce: 32,
  // Disconnection is promised within five seconds, also if the first try fails.
  firstRetryMs: 1_000,
  maxRetryMs: 10 * 60_000,
});

export interface RentalRecovery {
  /** Starts stuck rentals while slots are free, and returns their number. */
  recover(signal: AbortSignal): Promise<number>;
}

/**
 * Reconciles rentals whose commands were sent repeatedly without effect: Restate may be down, or a handler may be pinned to a
 * worker that never returns. A rental is claimed by one worker, has its own deadline, and is postponed after a failure, so that
 * it does not block the others.
 */
export function createRentalRecovery(deps: ReconcileDeps): RentalRecovery {
  const { db, clock, log } = deps;
  const runner = createItemRunner(recoveryLoop, { clock, log, db, claims: true });
  return {
    async recover(signal) {
      if (runner.free === 0) return 0;
      const found = await db.transaction(
        { name: 'find stuck rentals', isolation: 'read committed' },
        (tx) => {
          const now = tx.clock.now();
          return listStuckRentals(tx, recoveryLoop, {
            now,
            lateBy: new Date(now.getTime() + RENTAL_OVERDUE_MS - STUCK_MS),
            uncutBy: new Date(now.getTime() - DISCONNECT_LATE_MS),
            limit: runner.free,
          });
        },
      );
      if (found.length === 0) return 0;
      recoveredCounter.add(found.length);
      await runner.run(found, {
        key: ({ id }) => toUuid(id),
        work: (rental, ends) => reconcileRounds(deps, rental, ends),
        signal,
        // Slow rentals keep their slots while the next run starts beside them.
        maxWaitMs: 1_000,
      });
      return found.length;
    },
  };
}

async function reconcileRounds(
  deps: ReconcileDeps,
  { orgId, id }: Pick<Rental, 'orgId' | 'id'>,
  signal: AbortSignal,
): Promise<void> {
  deps.log.warn({ rentalId: id }, 'no handler runs for this rental; reconciling it directly');
  for (let round = 0; round < ROUNDS_MAX && !signal.aborted; round += 1) {
    const { kind } = await reconcileRental(deps, orgId, id, signal);
    if (kind !== 'again') return;
  }
}
