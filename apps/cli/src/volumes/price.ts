import type { Context } from '../frame/context.ts';
import type { Input } from '../sdk.ts';
import { usdText } from '@millrace/sdk/text';

/**
 * What an hour of a volume costs, before it is made. Storage is quoted with the bare metal that mounts it; its line of such a
 * quote is its price. Null where no bare metal is sold, and then the price is known once it is made.
 */
export async function volumePrice(
  context: Context,
  region: string,
  sizeInGb: number,
): Promise<string | null> {
  const wish = {
    rentalType: 'bare-metal',
    gpuCount: 8,
    region: region as Input<'quoteRental'>['region'],
    storageSizeInGb: sizeInGb,
  } as const;
  try {
    const { lines } = await context.client().options.quote(wish, { signal: context.signal });
    const storage = lines.find(({ kind }) => kind === 'storage');
    return storage === undefined ? null : `${usdText(storage.costPerHourNanoUsd)}/h`;
  } catch (error) {
    const isRefusal = error instanceof Error && 'reason' in error && error.reason === 'PRICE_NOT_AVAILABLE';
    if (isRefusal) return null;
    throw error;
  }
}
