import type { Tx } from '@millrace/platform/db';
import type { Rental } from './rental.ts';
import { saveRental } from './rentals.store.ts';
import { endRunningStep, insertStep, listSteps } from './steps.store.ts';

/** The steps that tenants watch while a rental comes up. */
export type StepName = 'place' | 'create' | 'prove' | 'open' | 'start' | 'release';

/** Ends what was going on and begins the next step, unless that has begun already. The rental's lock is held. */
export async function nextStep(tx: Tx, rental: Rental, name: StepName): Promise<Rental> {
  const running = (await listSteps(tx, rental.orgId, rental.id)).find(({ status }) => status === 'running');
  if (running?.name === name && running.attempt === rental.attempt) return rental;
  await endRunningStep(tx, rental.orgId, rental.id, { status: 'done' });
  const seq = rental.steps + 1;
  await insertStep(tx, rental, { seq, name });
  return saveRental(tx, rental, { steps: seq });
}
