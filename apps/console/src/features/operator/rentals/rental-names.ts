import type { Item } from '@millrace/sdk';

type NamedRental = Pick<Item<'adminListRentals'>, 'id' | 'name' | 'externalId'>;

export function rentalName({ id, name }: Pick<NamedRental, 'id' | 'name'>): string {
  return name ?? `Rental ${String(id)}`;
}

/** DOM id of the rental's row, so that a GPU can link to it. */
export const rentalAnchor = (id: number): string => `rental-${String(id)}`;

/** The rental that uses a GPU; undefined if it is not among them, for example because it has just ended. */
export function rentalOfGpu<Rental extends NamedRental>(
  { allocatedTo }: { readonly allocatedTo: string | null },
  rentals: readonly Rental[],
): Rental | undefined {
  return rentals.find(({ externalId }) => externalId === allocatedTo);
}
