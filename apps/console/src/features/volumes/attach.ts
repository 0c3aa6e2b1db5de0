import type { Item } from '@millrace/sdk';
import type { Choice } from '../../ui/field.tsx';
import type { Volume } from './volume.ts';

/** Decides which rentals a volume can attach to, and why not. */

type Rental = Pick<
  Item<'listRentals'>,
  'id' | 'name' | 'label' | 'region' | 'status' | 'rentalType' | 'supportsFeature'
>;

function attachDisabledReason(
  rental: Rental,
  volume: Pick<Volume, 'region' | 'attachedRentals'>,
): string | null {
  if (volume.attachedRentals.includes(rental.id)) return 'already attached';
  if (rental.rentalType !== 'bare-metal') return 'virtual machines cannot mount volumes';
  if (!rental.supportsFeature.attachedStorage) return 'runs under a contract';
  if (rental.region !== volume.region) return `is in ${rental.region}`;
  return rental.status === 'Running' ? null : `is ${rental.status.toLowerCase()}`;
}

/** Possible rentals first; others are listed with the reason. */
export function attachChoices(
  rentals: readonly Rental[],
  volume: Pick<Volume, 'region' | 'attachedRentals'>,
): readonly Choice[] {
  const all = rentals.map((rental) => {
    const why = attachDisabledReason(rental, volume);
    const title = rental.name ?? rental.label ?? `Rental ${String(rental.id)}`;
    return {
      value: String(rental.id),
      label: why === null ? title : `${title} (${why})`,
      disabled: why !== null,
    };
  });
  return all.toSorted((one, other) => Number(one.disabled) - Number(other.disabled));
}
