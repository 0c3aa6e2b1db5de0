import type { Input, Millrace } from '@millrace/sdk';
import type { Mode } from './client.ts';

/** Finds the live prices of volumes of test mode for lists, which do not have them. */

export interface PricedVolume {
  readonly region: string;
  readonly sizeInGb: number;
}

type QuoteClient = { readonly volumes: Pick<Millrace['volumes'], 'quote'> };

/** Price per hour in live mode, in nano-USD; undefined if there is none or the volume was not requested. */
export type LivePriceOf = (volume: PricedVolume) => string | undefined;

/** Bounds the requests: one for each region and size. */
const MAX_QUOTES = 20;

const keyOf = ({ region, sizeInGb }: PricedVolume): string => `${region} ${String(sizeInGb)}`;

/** One volume for each region and size. */
export const distinctVolumes = (volumes: readonly PricedVolume[]): readonly PricedVolume[] =>
  [...new Map(volumes.map((volume) => [keyOf(volume), volume])).values()].slice(0, MAX_QUOTES);

/** Sends no request in live mode, where the price itself is shown. A failed quote leaves its price out. */
export async function readLivePrices(
  client: QuoteClient,
  mode: Mode,
  volumes: readonly PricedVolume[],
  signal: AbortSignal,
): Promise<LivePriceOf> {
  const requested = mode === 'live' ? [] : distinctVolumes(volumes);
  const quotes = await Promise.allSettled(
    requested.map(({ region, sizeInGb }) =>
      client.volumes.quote({ region, sizeInGb } as Input<'quoteStorageVolume'>, { signal }),
    ),
  );
  const prices = new Map(
    requested.map((volume, index) => {
      const quote = quotes[index];
      return [keyOf(volume), quote?.status === 'fulfilled' ? quote.value.liveCostPerHourNanoUsd : undefined];
    }),
  );
  return (volume) => prices.get(keyOf(volume));
}
