import type { Db } from '@millrace/platform/db';
import { toUuid } from '@millrace/platform/ids';
import { createItemRunner, defineLoop } from '@millrace/platform/loops';
import { counter } from '@millrace/platform/telemetry';
import { reconcileRental } from './reconcile-rental.ts';
import type { ReconcileDeps } from './reconcile-deps.ts';
import { enqueueReconcile, scheduleSoon, RENTAL_OVERDUE_MS } from '../model/rental-transitions.ts';
import { type Rental, rentalsActor } from '../model/rental.ts';
import { listDueRentals, listStuckRentals, claimDueRentals } from '../model/rentals.store.ts';

const enqueuedCounter = counter(
  'millrace_rentals_redriven_total',
  'Rentals that were due, and were called for by the sweep',
);

const dueLoop = defineLoop({ name: 'call for due rentals', over: 'organisations' });

/**
 * Calls for whatever is due: terms and times to live that have come, waits that were too long to sleep through, and all
 * that was forgotten elsewhere. Several may sweep at once; each rental is called for by one of them.
 */
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
        // A call is no sign of work on the rental: the time from which it is late stays.
        const due = await claimDueRentals(tx, { now, ids: some, ...scheduleSoon(now) });
        for (const rental of due) await enqueueReconcile(tx, rental, rentalsActor);
        return due.length;
      });
    },
  });
  enqueuedCounter.add(count);
  return count;
}

const recoveredCounter = counter(
  'millrace_rentals_forsaken_total',
  'Rentals that nobody worked on though they were called for, and that a worker drove by itself',
);

/** A rental whose handler has not run for this long is no longer left to Restate. */
const STUCK_MS = 60_000;
/** The same for a rental whose access must be cut, which is promised within seconds. */
const DISCONNECT_LATE_MS = 2_000;
const ROUNDS_MAX = 50;

const recoveryLoop = defineLoop({
  name: 'recover stuck rentals',
  over: 'organisations',
  timeoutMs: 45_000,
  atOnce: 32,
  // Access is cut within five seconds, also if the first attempt fails.
  firstRetryMs: 1_000,
  maxRetryMs: 10 * 60_000,
});

export interface RentalRecovery {
  /** Takes up stuck rentals as far as there is room, and answers how many it has begun. */
  recover(signal: AbortSignal): Promise<number>;
}

/**
 * Works on rentals whose handlers were called repeatedly and did not run: Restate may be away, or a call may be
 * stuck behind one that was pinned to a worker which never returns. A rental is claimed by one worker, has its own deadline,
 * and is postponed after a failure, so that failing rentals do not hold back the others.
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
        // Slow rentals keep their slots; the next round runs beside them.
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
  deps.log.warn({ rentalId: id }, 'no handler works on a rental, so this worker does');
  for (let round = 0; round < ROUNDS_MAX && !signal.aborted; round += 1) {
    const { kind } = await reconcileRental(deps, orgId, id, signal);
    if (kind !== 'again') return;
  }
}
