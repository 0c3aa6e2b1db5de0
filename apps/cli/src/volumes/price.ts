import type { Context } from '../framework/context.ts';
import type { Input } from '../sdk.ts';
import { usdText } from '@millrace/sdk/text';

/** What a volume costs, before it is made: an hour and a month of it. */
export async function volumePrice(
  context: Context,
  region: Input<'quoteStorageVolume'>['region'],
  sizeInGb: number,
): Promise<string> {
  const { volumes } = context.client();
  const quote = await volumes.quote({ region, sizeInGb }, { signal: context.signal });
  return `${usdText(quote.costPerHourNanoUsd)}/h (${usdText(quote.costPer30DaysNanoUsd)} in 30 days)`;
}
