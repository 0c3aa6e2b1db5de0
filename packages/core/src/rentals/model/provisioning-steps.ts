import type { Tx } from '@millrace/platform/db';
import type { Rental } from './rental.ts';
import { saveRental } from './rentals.store.ts';
import {
  endRunningProvisioningStep,
  insertProvisioningStep,
  listProvisioningSteps,
} from './provisioning-steps.store.ts';

/** Steps shown to the tenant while a rental starts. */
export type ProvisioningStepName = 'place' | 'create' | 'prove' | 'open' | 'start' | 'release';

/** Ends the running step and starts the next, unless that one is already running. The caller holds the rental's lock. */
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
