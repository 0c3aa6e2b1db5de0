import type { Db } from '@millrace/platform/db';
import { counter } from '@millrace/platform/telemetry';
import { driveOnce } from './drive.ts';
import { rentalsActor, type DriveParts } from './drive-parts.ts';
import { callDriver, dueSoon, LATE_MS } from './move.ts';
import type { Rental } from './rental.ts';
import { listLate, lockDue, touchRental } from './rentals.store.ts';

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

const forsaken = counter(
  'millrace_rentals_forsaken_total',
  'Rentals that nobody worked on though they were called for, and that a worker drove by itself',
);

/** Called for in vain for so long, a rental is no longer left to Restate. */
const FORSAKEN_MS = 60_000;
const ROUNDS_MAX = 50;

/**
 * Works on rentals that were called for again and again and that nobody answers for: a call may be stuck in Restate behind
 * one that was pinned to a worker which never comes back. Two who work on one rental do no harm, so nobody is asked first.
 */
export async function driveForsaken(parts: DriveParts, limit: number, signal: AbortSignal): Promise<number> {
  const lateBy = new Date(parts.clock.nowMs() + LATE_MS - FORSAKEN_MS);
  const found = await listLate(parts.db, lateBy, limit);
  await Promise.all(found.map((rental) => driveSome(parts, rental, signal)));
  forsaken.add(found.length);
  return found.length;
}

async function driveSome(
  parts: DriveParts,
  { orgId, id }: Pick<Rental, 'orgId' | 'id'>,
  signal: AbortSignal,
): Promise<void> {
  parts.log.warn({ rentalId: id }, 'nobody works on a rental, so this worker does');
  try {
    for (let round = 0; round < ROUNDS_MAX && !signal.aborted; round += 1) {
      const { kind } = await driveOnce(parts, orgId, id, signal);
      if (kind !== 'again') return;
    }
  } catch (error) {
    parts.log.error({ rentalId: id, err: error }, 'a rental that nobody works on could not be driven');
  }
}
