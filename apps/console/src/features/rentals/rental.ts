import type { Output, Item } from '@millrace/sdk';

/** Texts and predicates of rentals. */

export type Rental = Output<'getRental'>;
export type EndedRental = Item<'listRentalHistory'>;
export type RentalCost = Output<'getRentalCost'>;

type Named = Pick<Rental, 'name' | 'label'> & { readonly id: number };

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

export function networkText(network: Rental['connectionType']): string {
  return network === 'infiniband' ? 'InfiniBand' : 'Ethernet';
}

/** Attached volumes with the fields of a price request. A volume is in the region of its rentals. */
export function pricedVolumes({ attachedStorage, region }: Pick<Rental, 'attachedStorage' | 'region'>) {
  return (attachedStorage ?? []).map((volume) => ({ ...volume, region, sizeInGb: volume.size_in_gb }));
}

type StatusAndPower = Pick<Rental, 'status' | 'power'>;

/** Whether the rental is between two states. */
export function isChanging({ status, power }: StatusAndPower): boolean {
  return (
    status === 'Pending' || status === 'Terminating' || (status !== 'Terminated' && power === 'changing')
  );
}

/** Whether the rental has ended: it no longer changes or bills. */
export function hasEnded({ status }: Pick<Rental, 'status'>): boolean {
  return status === 'Failed' || status === 'Terminating' || status === 'Terminated';
}

/** Whether provisioning failed or the host was lost, also after the cleanup. */
export function hasFailed({ status, meta }: Pick<Rental, 'status' | 'meta'>): boolean {
  return status === 'Failed' || (status === 'Terminated' && meta?.termination_reason === 'failed');
}

const CHANGING_REFETCH_MS = 2_000;
/** Power changes without an event, and the cost grows. */
const SETTLED_REFETCH_MS = 5_000;

/** Poll interval. The event feed reports most changes; polling finds the rest and updates the cost. */
export function rentalRefetchMs(rental: StatusAndPower | undefined): number | false {
  if (rental === undefined) return CHANGING_REFETCH_MS;
  if (rental.status === 'Terminated') return false;
  return isChanging(rental) || rental.status === 'Failed' || rental.status === 'Unknown'
    ? CHANGING_REFETCH_MS
    : SETTLED_REFETCH_MS;
}
