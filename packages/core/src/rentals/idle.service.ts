import type { Db } from '@millrace/platform/db';
import { counter } from '@millrace/platform/telemetry';
import { rentalsActor } from './drive-parts.ts';
import { endView, requireView } from './life.service.ts';
import { hasIdled } from './monitoring.ts';
import { stopRental } from './power.service.ts';
import { isReleasable, type IdleRule, type Rental } from './rental.ts';
import type { IdledRental } from './sampling.service.ts';
import { readIdleness } from './samples.store.ts';
import { currentTerm } from './terms.ts';

const carriedOut = counter('millrace_rentals_idled_total', 'Idle rules that were carried out, by action');

/**
 * Carries an idle rule out, by what the rental is now: a rule that was changed, a machine that was seen busy meanwhile, or
 * something else that is being done to it leaves it alone. A stop gives the GPUs back wherever that saves something.
 */
export async function carryOutIdle(db: Db, { rentalId, orgId, rule }: IdledRental): Promise<void> {
  const isDone = await db.transaction(
    { name: 'carry out idle rule', isolation: 'read committed' },
    async (tx) => {
      const view = await requireView(tx, orgId, rentalId);
      const { rental, terms } = view;
      const idleness = (await readIdleness(tx, [{ rentalId, orgId }])).get(rentalId);
      if (idleness === undefined || !isIdling(rental, rule) || !hasIdled(idleness, rule)) return false;
      const actor = rentalsActor;
      if (rule.action === 'terminate') {
        await endView(tx, view, { actor, reason: `It idled for ${rule.afterSeconds} seconds.` });
      } else {
        const release = currentTerm(terms).termType !== 'reserved' && isReleasable(rental);
        await stopRental(tx, view, { release, actor, because: 'idle' });
      }
      return true;
    },
  );
  if (isDone) carriedOut.add(1, { action: rule.action });
}

function isIdling({ status, task, power, idle }: Rental, rule: IdleRule): boolean {
  return (
    status === 'Running' &&
    task === null &&
    power === 'on' &&
    idle?.action === rule.action &&
    idle.afterSeconds === rule.afterSeconds
  );
}
