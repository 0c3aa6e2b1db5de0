import type { Item, Millrace } from '@millrace/sdk';
import type { ApiRead } from '../../api/queries.ts';
import type { Session } from '../../api/session.tsx';
import { balanceRead, budgetsRead, spendDaysRead } from '../money/use-spending.ts';
import type { Rental } from '../rentals/rental.ts';
import type { Volume } from '../volumes/volume.ts';
import type { Event } from './activity.ts';
import { readRecentEvents } from './recent-events.ts';

/** The reads of the overview. Its route starts them before the page renders. */
export function overviewReads({ may, place }: Pick<Session, 'may' | 'place'>): readonly ApiRead<unknown>[] {
  return [
    // First, because it takes two requests, one after the other.
    ...(may('events:read') ? [eventsRead(place.mode)] : []),
    ...(may('billing:read') ? [balanceRead, spendDaysRead, budgetsRead] : []),
    resourcesRead(may),
    ...(may('webhooks:read') ? [webhooksRead] : []),
  ];
}

export const webhooksRead: ApiRead<readonly Item<'listWebhooks'>[]> = {
  key: ['webhooks', 'all'],
  read: (client, signal) => client.webhooks.list({ limit: 100 }, { signal }).all(),
};

export function eventsRead(mode: Event['mode']): ApiRead<readonly Event[]> {
  return {
    key: ['overview', 'activity'],
    read: (client, signal) => readRecentEvents(client, mode, signal),
  };
}

type ListedInstance = Item<'listMarketplaceInstances'>;

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
export function resourcesRead(may: Session['may']): ApiRead<Resources> {
  const [rentals, volumes, instances] = [may('rentals:read'), may('volumes:read'), may('marketplace:read')];
  return {
    key: ['overview', 'resources', rentals, volumes, instances],
    read: async (client, signal) => {
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
  };
}
