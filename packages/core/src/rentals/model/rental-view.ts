import type { Reader, Tx } from '@millrace/platform/db';
import type { OrgId, RentalId } from '@millrace/platform/ids';
import { listMachines } from './machines.store.ts';
import type { Rental, RentalKey, RentalView } from './rental.ts';
import { findRental, lockRental } from './rentals.store.ts';
import { listTerms } from './terms.store.ts';

/** Reads a rental with its machines and terms: the complete input of planning. */

/** Null if the organisation has no rental with this id. */
export async function readView(reader: Reader, orgId: OrgId, id: RentalId): Promise<RentalView | null> {
  return loadView(reader, await findRental(reader, orgId, id));
}

/** Locks the rental, so that the view stays current until the transaction ends. */
export async function lockView(tx: Tx, { orgId, id }: RentalKey): Promise<RentalView | null> {
  return loadView(tx, await lockRental(tx, orgId, id));
}

async function loadView(reader: Reader, rental: Rental | null): Promise<RentalView | null> {
  if (rental === null) return null;
  const { orgId, id } = rental;
  const machines = await listMachines(reader, orgId, id);
  return { rental, machines, terms: await listTerms(reader, orgId, id) };
}
