import type { Reader, Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import {
  detachRental,
  isAddressStillServed,
  listSharedAddresses,
  readOrderedStorage,
  bumpSpecVersionsOfRental,
  type OrderedStorage,
} from '../../volumes/index.ts';
import { saveMachine } from './machines.store.ts';
import type { Rental, RentalMachine } from './rental.ts';

/** What volumes have to know of rentals. Only bare metal has any, so nobody else asks. */

type Attachable = Pick<Rental, 'orgId' | 'id' | 'kind'>;

/** Its machines have other addresses, or there are others: whoever serves its volumes lets these in from now on. */
export async function refreshVolumeClients(tx: Tx, rental: Attachable): Promise<void> {
  if (rental.kind === 'bare-metal') await bumpSpecVersionsOfRental(tx, rental.orgId, rental.id);
}

/** Its end was accepted, or it has failed. */
export async function detachVolumes(tx: Tx, rental: Attachable, actor: Actor): Promise<void> {
  if (rental.kind === 'bare-metal') await detachRental(tx, rental.orgId, rental.id, actor);
}

/** The address of a machine is all that a volume knows it by: while it is let in, nobody else may get the address. */
export async function isAdmittedByVolumes(reader: Reader, rental: Attachable): Promise<boolean> {
  return rental.kind === 'bare-metal' && isAddressStillServed(reader, rental.orgId, rental.id);
}

/**
 * Whether the machine has a volume and the private address of another machine with one, so that no storage server lets it in. To be
 * asked in the transaction that wrote the address: from then on the answer does not change while the other machine is there.
 */
export async function hasSharedAddress(
  tx: Tx,
  rental: Attachable,
  machine: Pick<RentalMachine, 'externalId'>,
): Promise<boolean> {
  if (rental.kind !== 'bare-metal') return false;
  const shared = await listSharedAddresses(tx, rental.orgId, [rental.id]);
  return shared.some(({ externalId }) => externalId === machine.externalId);
}

/** An address that another machine holds is not written, so that the next comparison tries again. */
export async function savePrivateAddress(
  tx: Tx,
  rental: Rental,
  machine: RentalMachine,
  privateIp: string,
): Promise<void> {
  await saveMachine(tx, machine, { privateIp });
  if (await hasSharedAddress(tx, rental, machine)) await saveMachine(tx, machine, { privateIp: null });
  else await refreshVolumeClients(tx, rental);
}

const ready: OrderedStorage = { state: 'ready' };

/** The storage that a rental waits for before its first start. */
export async function readOrderedStorageOf(
  reader: Reader,
  rental: Attachable & Pick<Rental, 'status' | 'startedAt'>,
): Promise<OrderedStorage> {
  const isStarting = rental.status === 'Pending' && rental.startedAt === null;
  if (rental.kind !== 'bare-metal' || !isStarting) return ready;
  return readOrderedStorage(reader, rental.orgId, rental.id);
}
