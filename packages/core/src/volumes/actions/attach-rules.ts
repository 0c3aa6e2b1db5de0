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

/** What may be done with a volume, and which rentals can have one. Pure: answered by the contract's tables. */

/** Refuses what the volume's status forbids. Whether it was asked for before is the caller's to see. */
export function requireVolumeAction(volume: Pick<Volume, 'status'>, action: VolumeAction): void {
  const decision = actionDecision(volumeStates, action, volume.status);
  if (decision !== 'allowed' && decision !== 'repeat') throw new Fault(decision);
}

/** All that were asked for were found, have storage at all, are in the region, and run. */
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
  // The database knows no status that the contract does not.
  const decision = actionDecision(rentalStates, action, status as RentalState);
  if (decision !== 'allowed' && decision !== 'repeat') throw new Fault(decision);
}
