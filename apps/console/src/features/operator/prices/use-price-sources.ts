import { useApiQuery } from '../../../api/queries.ts';

/** Fleet, regions and models that prices refer to. Read when the dialog opens. */
export function usePriceSources(enabled: boolean) {
  return useApiQuery(
    ['admin', 'price-sources'],
    async (client, signal) => {
      const [nodes, clusters, providers, models, deployments] = await Promise.all([
        client.admin.nodes.list({ limit: 200 }, { signal }).all(),
        client.admin.clusters.list({ limit: 200 }, { signal }).all(),
        client.admin.providers.list({ limit: 200 }, { signal }).all(),
        client.admin.models.list({ limit: 200 }, { signal }).all(),
        client.admin.deployments.list({ limit: 200 }, { signal }).all(),
      ]);
      return { nodes, clusters, providers, models, deployments };
    },
    { enabled },
  );
}

export type PriceSources = NonNullable<ReturnType<typeof usePriceSources>['data']>;
