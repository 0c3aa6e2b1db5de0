import { useApiQuery, type ApiRead } from '../../api/queries.ts';
import { hasEnded, rentalRefetchMs, type Rental, type RentalCost } from './rental.ts';
import { unpostedAmount } from './receipt.ts';

export function rentalRead(rentalId: number): ApiRead<Rental> {
  return {
    key: ['rentals', 'one', rentalId],
    read: (client, signal) => client.rentals.get({ rentalId }, { signal }),
  };
}

export function useRental(rentalId: number, { enabled } = { enabled: true }) {
  const { key, read } = rentalRead(rentalId);
  return useApiQuery(key, read, { refetchMs: rentalRefetchMs, enabled });
}

const costMs = 5_000;

/** Cost of a rental; final once everything is posted. */
export function useRentalCost(rental: Pick<Rental, 'id' | 'status'>) {
  const { id: rentalId } = rental;
  return useApiQuery<RentalCost>(
    ['rentals', 'one', rentalId, 'cost'],
    (client, signal) => client.rentals.getCost({ rentalId }, { signal }),
    {
      refetchMs: (cost) =>
        hasEnded(rental) && cost !== undefined && unpostedAmount(cost) === 0n ? false : costMs,
    },
  );
}
