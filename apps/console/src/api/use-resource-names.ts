import { useApiQuery } from './queries.ts';
import {
  instanceNumbers,
  readInstanceNames,
  readRentalNames,
  readVolumeNames,
  type NamesById,
  type Resource,
  type ResourceNames,
} from './resource-names.ts';
import { useSession } from './session.tsx';

type Kind = 'rental' | 'volume' | 'instance';

/** Names of the newest rentals and volumes, and of the instances among `resources`. */
export function useResourceNames(
  /** The numbers of instances are taken from here. */
  resources: readonly Resource[],
  kinds: readonly Kind[] = ['rental', 'volume', 'instance'],
): ResourceNames {
  const { may } = useSession();
  const numbers = instanceNumbers(resources);
  const rentals = useApiQuery(['rentals', 'names'], readRentalNames, {
    enabled: kinds.includes('rental') && may('rentals:read'),
  });
  const volumes = useApiQuery(['volumes', 'names'], readVolumeNames, {
    enabled: kinds.includes('volume') && may('volumes:read'),
  });
  const instances = useApiQuery(
    ['instances', 'names', ...numbers],
    (client, signal) => readInstanceNames(client, numbers, signal),
    { enabled: numbers.length > 0 && may('marketplace:read'), keepPrevious: true },
  );
  const known: Readonly<Record<string, NamesById | undefined>> = {
    rental: rentals.data,
    volume: volumes.data,
    instance: instances.data,
  };
  // After a failure, numbers are better than waiting for the next attempts.
  const isLoading = [rentals, volumes, instances].some(
    (query) => query.isLoading && query.failureCount === 0,
  );
  return {
    isLoading,
    nameOf: ({ kind, id }) => known[kind]?.get(id) ?? null,
  };
}
