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

/** Connects rentals with volumes. Only bare metal can attach volumes, so other kinds skip the queries. */

type Attachable = Pick<Rental, 'orgId' | 'id' | 'kind'>;

/** Called when the machines or their addresses change, so that storage nodes admit the new addresses. */
export async function refreshVolumeClients(tx: Tx, rental: Attachable): Promise<void> {
  if (rental.kind === 'bare-metal') await bumpSpecVersionsOfRental(tx, rental.orgId, rental.id);
}

/** Called when the rental's termination is accepted or the rental fails. */
export async function detachVolumes(tx: Tx, rental: Attachable, actor: Actor): Promise<void> {
  if (rental.kind === 'bare-metal') await detachRental(tx, rental.orgId, rental.id, actor);
}

/** Storage nodes identify a machine only by its address. Until they stop serving the address, no other machine may get it. */
export async function isAdmittedByVolumes(reader: Reader, rental: Attachable): Promise<boolean> {
  return rental.kind === 'bare-metal' && isAddressStillServed(reader, rental.orgId, rental.id);
}

/**
 * Whether the machine has volumes and shares its private address with another such machine, so that no storage node admits it.
 * Call this in the transaction that wrote the address: the result then stays true while the other machine exists.
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

/** Does not keep an address that another machine has; the next comparison tries again. */
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

export async function readOrderedStorageOf(
  reader: Reader,
  rental: Attachable & Pick<Rental, 'status' | 'startedAt'>,
): Promise<OrderedStorage> {
  const isStarting = rental.status === 'Pending' && rental.startedAt === null;
  if (rental.kind !== 'bare-metal' || !isStarting) return ready;
  return readOrderedStorage(reader, rental.orgId, rental.id);
}
