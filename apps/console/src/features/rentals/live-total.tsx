import { useSession } from '../../api/session.tsx';
import { LiveCost } from '../../ui/money.tsx';
import type { Rental } from './rental.ts';
import { useRentalCost } from './use-rental.ts';

/** In test mode, what a rental would have cost so far in live mode. */
export function LiveTotal({ rental }: Readonly<{ rental: Pick<Rental, 'id' | 'status'> }>) {
  return useSession().place.mode === 'test' ? <LoadedTotal rental={rental} /> : null;
}

function LoadedTotal({ rental }: Readonly<{ rental: Pick<Rental, 'id' | 'status'> }>) {
  const { data } = useRentalCost(rental);
  return <LiveCost nano={data?.liveTotalNanoUsd} />;
}
