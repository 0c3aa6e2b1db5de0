import type { Context } from '../framework/context.ts';
import type { Input } from '../sdk.ts';
import { usdText } from '@millrace/sdk/text';

/** The price of a volume per hour and per month, before it is created. */
export async function volumePrice(
  context: Context,
  region: Input<'quoteStorageVolume'>['region'],
  sizeInGb: number,
): Promise<string> {
  const { volumes } = context.client();
  const quote = await volumes.quote({ region, sizeInGb }, { signal: context.signal });
  return `${usdText(quote.costPerHourNanoUsd)}/h (${usdText(quote.costPer30DaysNanoUsd)} in 30 days)`;
}
