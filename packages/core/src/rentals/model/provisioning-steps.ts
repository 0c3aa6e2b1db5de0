import type { Tx } from '@millrace/platform/db';
import type { Rental } from './rental.ts';
import { saveRental } from './rentals.store.ts';
import {
  endRunningProvisioningStep,
  insertProvisioningStep,
  listProvisioningSteps,
} from './provisioning-steps.store.ts';

/** The steps that tenants watch while a rental comes up. */
export type ProvisioningStepName = 'place' | 'create' | 'prove' | 'open' | 'start' | 'release';

/** Ends what was going on and begins the next step, unless that has begun already. The rental's lock is held. */
export async function startProvisioningStepIfNew(
  tx: Tx,
  rental: Rental,
  name: ProvisioningStepName,
): Promise<Rental> {
  const running = (await listProvisioningSteps(tx, rental.orgId, rental.id)).find(
    ({ status }) => status === 'running',
  );
  if (running?.name === name && running.attempt === rental.attempt) return rental;
  await endRunningProvisioningStep(tx, rental.orgId, rental.id, { status: 'done' });
  const seq = rental.steps + 1;
  await insertProvisioningStep(tx, rental, { seq, name });
  return saveRental(tx, rental, { steps: seq });
}
