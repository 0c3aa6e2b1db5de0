import { ApiError } from '@millrace/sdk';
import { useQuery } from '@tanstack/react-query';
import { anonymousClient } from '../../api/client.ts';
import { nowMs } from '../../api/clock.ts';
import { useApiQuery } from '../../api/queries.ts';
import { REFRESH_MS, type Offer } from './offers.ts';

export interface Offers {
  readonly offers: readonly Offer[];
  /** When the data was current. */
  readonly asOfMs: number;
}

/** Whether the operator restricts the catalog to members. */
export function isCatalogPrivate(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** Live offers at list prices, for visitors. */
export function usePublicOffers(enabled: boolean) {
  return useQuery({
    queryKey: ['open-catalog'],
    queryFn: async ({ signal }): Promise<Offers> => {
      const { offers, asOf } = await anonymousClient.catalog.get({}, { signal });
      return { offers, asOfMs: Date.parse(asOf) };
    },
    enabled,
    refetchInterval: (query) => (isCatalogPrivate(query.state.error) ? false : REFRESH_MS),
  });
}

/** The service counts availability at most this long before it responds. */
const MAX_COUNT_AGE_MS = 1_000;

/** Offers of this tab's mode at the organisation's prices. */
export function useMemberOffers() {
  return useApiQuery(
    ['catalog', 'offers'],
    async (client, signal): Promise<Offers> => {
      const asOfMs = nowMs() - MAX_COUNT_AGE_MS;
      return { offers: await client.options.list({ limit: 200 }, { signal }).all(), asOfMs };
    },
    { refetchMs: REFRESH_MS },
  );
}
