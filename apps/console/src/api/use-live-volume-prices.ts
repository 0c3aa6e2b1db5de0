import { useApiQuery } from './queries.ts';
import { useSession } from './session.tsx';
import {
  distinctVolumes,
  readLivePrices,
  type LivePriceOf,
  type PricedVolume,
} from './live-volume-prices.ts';

export function useLivePrices(volumes: readonly PricedVolume[]): LivePriceOf {
  const { mode } = useSession().place;
  const requested = distinctVolumes(volumes).map(({ region, sizeInGb }) => ({ region, sizeInGb }));
  const { data } = useApiQuery(
    ['catalog', 'live-volume-prices', requested],
    (client, signal) => readLivePrices(client, mode, requested, signal),
    { enabled: mode === 'test' && requested.length > 0, keepPrevious: true },
  );
  return data ?? (() => undefined);
}
