import type { Db } from '@millrace/platform/db';
import { counter } from '@millrace/platform/telemetry';
import { rentalsActor } from './drive-parts.ts';
import { callDriver, dueSoon } from './move.ts';
import { lockDue, touchRental } from './rentals.store.ts';

const redriven = counter(
  'millrace_rentals_redriven_total',
  'Rentals that were due, and were called for by the sweep',
);

/**
 * Calls for whatever is due: terms and times to live that have come, waits that were too long to sleep through, and all
 * that was forgotten elsewhere. Several may sweep at once; each rental is called for by one of them.
 */
export async function redriveDue(db: Db, limit: number): Promise<number> {
  const count = await db.transaction({ name: 'redrive rentals', isolation: 'read committed' }, async (tx) => {
    const now = tx.clock.now();
    const due = await lockDue(tx, now, limit);
    for (const rental of due) {
      // That it was called for again is no sign that anybody works on it: from when it is late stays as it was.
      const { nextActionAt, deadlineAt } = dueSoon(now);
      await touchRental(tx, rental, { nextActionAt, deadlineAt: rental.deadlineAt ?? deadlineAt });
      await callDriver(tx, rental, rentalsActor);
    }
    return due.length;
  });
  redriven.add(count);
  return count;
}
