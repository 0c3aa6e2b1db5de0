import type { Query, QueryClient, QueryKey } from '@tanstack/react-query';

const isLoadingPage = ({ state }: Query): boolean =>
  state.fetchStatus === 'fetching' && state.fetchMeta?.fetchMore !== undefined;

/**
 * Reads again all queries whose key begins with `queryKey`. A list that is loading another page is read after that page, because
 * reading it at once would cancel the page that the user asked for.
 */
export async function invalidate(cache: QueryClient, queryKey: QueryKey): Promise<void> {
  const busy = new Set(cache.getQueryCache().findAll({ queryKey, predicate: isLoadingPage }));
  const others = cache.invalidateQueries({ queryKey, predicate: (query) => !busy.has(query) });
  const later = [...busy].map(async (query) => {
    await query.promise?.catch(() => undefined);
    await cache.invalidateQueries({ queryKey: query.queryKey, exact: true });
  });
  await Promise.all([others, ...later]);
}
