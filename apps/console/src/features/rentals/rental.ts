import type { Output, Item } from '@millrace/sdk';

/** Rentals as the pages show them. */

export type Rental = Output<'getRental'>;
export type EndedRental = Item<'listRentalHistory'>;
export type RentalCost = Output<'getRentalCost'>;

type Named = Pick<Rental, 'name' | 'label'> & { readonly id: number };

/** What people call it. */
export function rentalTitle({ id, name, label }: Named): string {
  return name ?? label ?? `Rental ${String(id)}`;
}

/** `2 × H100, virtual machine` */
export function rentalHardwareText({
  gpuCount,
  gpuType,
  rentalType,
}: Pick<Rental, 'gpuCount' | 'gpuType' | 'rentalType'>): string {
  return `${String(gpuCount)} × ${gpuType.toUpperCase()}, ${rentalType === 'bare-metal' ? 'bare metal' : 'virtual machine'}`;
}

type StatusAndPower = Pick<Rental, 'status' | 'power'>;

/** On its way from one state to another, so that somebody may be waiting for it. */
export function isChanging({ status, power }: StatusAndPower): boolean {
  return (
    status === 'Pending' || status === 'Terminating' || (status !== 'Terminated' && power === 'changing')
  );
}

/** What has come to its end: it changes no more, and is billed no more. */
export function hasEnded({ status }: Pick<Rental, 'status'>): boolean {
  return status === 'Failed' || status === 'Terminating' || status === 'Terminated';
}

/** It could not be delivered, or was lost with its host; also after everything of it was cleared away. */
export function hasFailed({ status, meta }: Pick<Rental, 'status' | 'meta'>): boolean {
  return status === 'Failed' || (status === 'Terminated' && meta?.termination_reason === 'failed');
}

const CHANGING_REFETCH_MS = 2_000;
/** Power is switched from elsewhere without an event, and what it has cost grows. */
const SETTLED_REFETCH_MS = 5_000;

/** How often to look again. The feed tells of most changes; this finds the rest, and what a rental has cost by now. */
export function rentalRefetchMs(rental: StatusAndPower | undefined): number | false {
  if (rental === undefined) return CHANGING_REFETCH_MS;
  if (rental.status === 'Terminated') return false;
  return isChanging(rental) || rental.status === 'Failed' || rental.status === 'Unknown'
    ? CHANGING_REFETCH_MS
    : SETTLED_REFETCH_MS;
}
