import { nowMs } from '../../../api/clock.ts';
import { useApiQuery } from '../../../api/queries.ts';
import type { SetupFacts } from './setup.ts';

const COMPLETE_REFETCH_MS = 300_000;
const OPEN_REFETCH_MS = 10_000;

const isComplete = (facts: SetupFacts): boolean => Object.values(facts).every(Boolean);

/** Six reads of one page each; rarely repeated once everything is set up. */
export function useSetup() {
  return useApiQuery(
    ['admin', 'setup'],
    async ({ admin, options }, signal): Promise<SetupFacts> => {
      const at = new Date(nowMs()).toISOString();
      const [providers, clusters, prices, grants, topUps, offers] = await Promise.all([
        admin.providers.list({ limit: 200 }, { signal }),
        admin.clusters.list({ status: 'connected', limit: 200 }, { signal }),
        admin.prices.list({ at, limit: 200 }, { signal }),
        admin.transfers.list({ kind: 'grant', limit: 1 }, { signal }),
        admin.transfers.list({ kind: 'top_up', limit: 1 }, { signal }),
        options.list({ limit: 1 }, { signal }),
      ]);
      const live = new Set(providers.items.flatMap(({ id, mode }) => (mode === 'live' ? [id] : [])));
      return {
        hasCluster: clusters.items.some(({ providerId }) => live.has(providerId)),
        hasPrice: prices.items.some(
          ({ subject, organisationId }) => subject.kind === 'gpu' && organisationId === null,
        ),
        hasCredit: grants.items.length > 0 || topUps.items.length > 0,
        hasOffer: offers.items.length > 0,
      };
    },
    {
      refetchMs: (facts) =>
        facts !== undefined && isComplete(facts) ? COMPLETE_REFETCH_MS : OPEN_REFETCH_MS,
    },
  );
}
