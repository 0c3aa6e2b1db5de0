import type { Answer, Item } from '@millrace/sdk';

/** Rentals as the pages show them. */

export type Rental = Answer<'getRental'>;
export type EndedRental = Item<'listRentalHistory'>;
export type RentalCost = Answer<'getRentalCost'>;

type Named = Pick<Rental, 'name' | 'label'> & { readonly id: number };

/** What people call it. */
export function titleOf({ id, name, label }: Named): string {
  return name ?? label ?? `Rental ${String(id)}`;
}

/** `2 × H100, virtual machine` */
export function whatOf({
  gpuCount,
  gpuType,
  rentalType,
}: Pick<Rental, 'gpuCount' | 'gpuType' | 'rentalType'>): string {
  return `${String(gpuCount)} × ${gpuType.toUpperCase()}, ${rentalType === 'bare-metal' ? 'bare metal' : 'virtual machine'}`;
}

type Life = Pick<Rental, 'status' | 'power'>;

/** On its way from one state to another, so that somebody may be waiting for it. */
export function isChanging({ status, power }: Life): boolean {
  return (
    status === 'Pending' || status === 'Terminating' || (status !== 'Terminated' && power === 'changing')
  );
}

/** What has come to its end: it changes no more, and is billed no more. */
export function isOver({ status }: Pick<Rental, 'status'>): boolean {
  return status === 'Failed' || status === 'Terminating' || status === 'Terminated';
}

/** It could not be delivered, or was lost with its host; also after everything of it was cleared away. */
export function hasFailed({ status, meta }: Pick<Rental, 'status' | 'meta'>): boolean {
  return status === 'Failed' || (status === 'Terminated' && meta?.termination_reason === 'failed');
}

const changingMs = 2_000;
/** Power is switched from elsewhere without an event, and what it has cost grows. */
const settledMs = 5_000;

/** How often to look again. The feed tells of most changes; this finds the rest, and what a rental has cost by now. */
export function lookAgainMs(rental: Life | undefined): number | false {
  if (rental === undefined) return changingMs;
  if (rental.status === 'Terminated') return false;
  return isChanging(rental) || rental.status === 'Failed' || rental.status === 'Unknown'
    ? changingMs
    : settledMs;
}
