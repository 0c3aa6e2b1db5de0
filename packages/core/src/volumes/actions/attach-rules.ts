import {
  rentalStates,
  actionDecision,
  volumeStates,
  type RentalAction,
  type RentalState,
} from '@millrace/contract';
import { Fault } from '@millrace/platform/fault';
import type { LockedRental } from '../../rental-lookup/index.ts';
import type { Volume, VolumeAction } from '../model/volume.ts';

/** Which actions a volume allows and which rentals can attach it, by the tables of the contract. */

/** Refuses actions that the status forbids. The caller handles repeated requests. */
export function requireVolumeAction(volume: Pick<Volume, 'status'>, action: VolumeAction): void {
  const decision = actionDecision(volumeStates, action, volume.status);
  if (decision !== 'allowed' && decision !== 'repeat') throw new Fault(decision);
}

/** All requested rentals must exist, be bare metal in the volume's region, and run. */
export function requireRentals(found: readonly LockedRental[], ids: readonly number[], region: string): void {
  if (found.length < new Set(ids).size) throw new Fault('RENTAL_NOT_FOUND');
  for (const rental of found) requireAttachable(rental, region);
  for (const { status } of found) requireRentalAction(status, 'attach-volume');
}

export function requireAttachable(rental: Pick<LockedRental, 'kind' | 'region'>, region: string): void {
  if (rental.kind !== 'bare-metal') throw new Fault('ATTACH_NOT_SUPPORTED');
  if (rental.region !== region) throw new Fault('REGION_MISMATCH');
}

function requireRentalAction(status: string, action: RentalAction): void {
  // The database has only statuses of the contract.
  const decision = actionDecision(rentalStates, action, status as RentalState);
  if (decision !== 'allowed' && decision !== 'repeat') throw new Fault(decision);
}
