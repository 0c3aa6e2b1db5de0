import { ApiError } from '@millrace/sdk';
import { useQuery } from '@tanstack/react-query';
import { anonymousClient } from '../../api/client.ts';
import { nowMs } from '../../api/clock.ts';
import { useApiQuery } from '../../api/queries.ts';
import { REFRESH_MS, type Offer } from './offers.ts';

export interface Offers {
  readonly offers: readonly Offer[];
  /** When these figures were true. */
  readonly asOfMs: number;
}

/** Whether nobody may look before they have signed in: the operator closed the catalog. */
export function isCatalogPrivate(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 404;
}

/** For those who have not signed in: live machines at list prices. */
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

/** What the service lists was counted at most so long before it was asked. */
const MAX_COUNT_AGE_MS = 1_000;

/** For those who have: machines of this tab's mode, at the prices of their organisation. */
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
