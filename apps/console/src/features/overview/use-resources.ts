import type { Item, Millrace } from '@millrace/sdk';
import { useApiQuery } from '../../api/queries.ts';
import { useSession } from '../../api/session.tsx';
import type { Rental } from '../rentals/rental.ts';
import type { Volume } from '../volumes/volume.ts';

export type ListedInstance = Item<'listMarketplaceInstances'>;

export interface Resources {
  readonly rentals: readonly Rental[];
  readonly volumes: readonly Volume[];
  readonly instances: readonly ListedInstance[];
  /** More exist than were read. */
  readonly hasMore: boolean;
}

const PAGE = 200;
const FAULTS = 20;

/** The newest page, plus failed and unknown rentals beyond it. */
async function readRentals(
  client: Millrace,
  signal: AbortSignal,
): Promise<{ readonly items: readonly Rental[]; readonly hasMore: boolean }> {
  const page = await client.rentals.list({ limit: PAGE }, { signal });
  if (page.nextCursor === null) return { items: page.items, hasMore: false };
  const [failed, unknown] = await Promise.all(
    (['Failed', 'Unknown'] as const).map((status) =>
      client.rentals.list({ status, limit: FAULTS }, { signal }),
    ),
  );
  const all = [...page.items, ...(failed?.items ?? []), ...(unknown?.items ?? [])];
  return { items: [...new Map(all.map((rental) => [rental.id, rental])).values()], hasMore: true };
}

const none = { items: [], hasMore: false };

/** Everything that runs, as far as the role can read it. */
export function useResources() {
  const { may } = useSession();
  const [rentals, volumes, instances] = [may('rentals:read'), may('volumes:read'), may('marketplace:read')];
  return useApiQuery(
    ['overview', 'resources', rentals, volumes, instances],
    async (client, signal): Promise<Resources> => {
      const [ofRentals, ofVolumes, ofInstances] = await Promise.all([
        rentals ? readRentals(client, signal) : none,
        volumes ? client.volumes.list({}, { signal }).all() : [],
        instances ? client.marketplace.instances.list({}, { signal }).all() : [],
      ]);
      return {
        rentals: ofRentals.items,
        volumes: ofVolumes,
        instances: ofInstances,
        hasMore: ofRentals.hasMore,
      };
    },
    { refetchMs: 10_000 },
  );
}
