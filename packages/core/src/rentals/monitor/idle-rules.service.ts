import type { Db } from '@millrace/platform/db';
import { counter } from '@millrace/platform/telemetry';
import { terminateView, lockRentalView } from '../actions/termination.service.ts';
import { isIdleLongEnough } from './idleness.ts';
import { stopRental } from '../actions/power.service.ts';
import { isReleasable, type IdleRule, type Rental, rentalsActor } from '../model/rental.ts';
import type { IdleRental } from './sampling.service.ts';
import { readIdleness } from './samples.store.ts';
import { currentTerm } from '../money/terms.ts';

const idleRulesDone = counter('millrace_rentals_idled_total');

/**
 * Executes an idle rule if it still applies under the rental's lock: the rule is unchanged, the rental is still idle, and no task
 * is in progress. A stop releases the GPUs if that saves money.
 */
export async function executeIdleRule(db: Db, { rentalId, orgId, rule }: IdleRental): Promise<void> {
  const isDone = await db.transaction(
    { name: 'carry out idle rule', isolation: 'read committed' },
    async (tx) => {
      const view = await lockRentalView(tx, orgId, rentalId);
      const { rental, terms } = view;
      const idleness = (await readIdleness(tx, [{ rentalId, orgId }])).get(rentalId);
      if (idleness === undefined || !isIdleRuleActive(rental, rule) || !isIdleLongEnough(idleness, rule))
        return false;
      const actor = rentalsActor;
      if (rule.action === 'terminate') {
        await terminateView(tx, view, {
          actor,
          reason: `The rental was idle for ${rule.afterSeconds} seconds.`,
        });
      } else {
        const release = currentTerm(terms).termType !== 'reserved' && isReleasable(rental);
        await stopRental(tx, view, { release, actor, because: 'idle' });
      }
      return true;
    },
  );
  if (isDone) idleRulesDone.add(1, { action: rule.action });
}

function isIdleRuleActive({ status, task, power, idle }: Rental, rule: IdleRule): boolean {
  return (
    status === 'Running' &&
    task === null &&
    power === 'on' &&
    idle?.action === rule.action &&
    idle.afterSeconds === rule.afterSeconds
  );
}
