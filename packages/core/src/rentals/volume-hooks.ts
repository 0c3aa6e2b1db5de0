import type { Reader, Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { detachRental, isStillServed, touchVolumesOf } from '../volumes/index.ts';
import type { Rental } from './rental.ts';

/** What volumes have to know of rentals. Only bare metal has any, so nobody else asks. */

type Attachable = Pick<Rental, 'orgId' | 'id' | 'kind'>;

/** Its machines have other addresses, or there are others: whoever serves its volumes lets these in from now on. */
export async function tellVolumes(tx: Tx, rental: Attachable): Promise<void> {
  if (rental.kind === 'bare-metal') await touchVolumesOf(tx, rental.orgId, rental.id);
}

/** Its end was accepted, or it has failed. */
export async function letGoOfVolumes(tx: Tx, rental: Attachable, actor: Actor): Promise<void> {
  if (rental.kind === 'bare-metal') await detachRental(tx, rental.orgId, rental.id, actor);
}

/** The address of a machine is all that a volume knows it by: while it is let in, nobody else may get the address. */
export async function isLetIn(reader: Reader, rental: Attachable): Promise<boolean> {
  return rental.kind === 'bare-metal' && isStillServed(reader, rental.orgId, rental.id);
}
