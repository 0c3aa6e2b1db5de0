import type { Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { markReleasing, recordNodeFaults } from '../../fleet/index.ts';
import { markMachinesTerminating } from '../model/machines.store.ts';
import { transitionRental } from '../model/rental-transitions.ts';
import { currentMachinesOf, type Rental, type RentalView } from '../model/rental.ts';
import { failRental } from '../money/rental-billing.service.ts';

/** Marks a rental Unknown while its host is unreachable, and Failed when its machine is lost. */

export const reconcilerActor: Actor = { kind: 'system', id: 'reconciler' };

export function markUnknown(
  tx: Tx,
  rental: Rental,
  { since, reason }: { readonly since: Date; readonly reason: string },
): Promise<Rental> {
  return transitionRental(tx, rental, {
    to: 'Unknown',
    reason,
    actor: reconcilerActor,
    changes: { unhealthySince: since },
    data: { silentSince: since.toISOString() },
  });
}

/** Charges nothing after `at`. Every rental becomes Unknown before it fails. */
export async function failLostRental(
  tx: Tx,
  view: RentalView,
  { at, why, actor }: { readonly at: Date; readonly why: string; readonly actor: Actor },
): Promise<Rental> {
  const isUnknown = view.rental.status === 'Unknown';
  const rental = isUnknown ? view.rental : await markUnknown(tx, view.rental, { since: at, reason: why });
  const hosts = currentMachinesOf(view).map(({ nodeId }) => nodeId);
  await recordNodeFaults(tx, hosts, { kind: 'loss', rentalId: rental.id, reason: why });
  await markMachinesTerminating(tx, rental.orgId, rental.id, { now: tx.clock.now() });
  if (rental.allocationId !== null) await markReleasing(tx, rental.orgId, rental.allocationId);
  return failRental(tx, { ...view, rental }, why, { actor, lastGoodSign: at });
}
