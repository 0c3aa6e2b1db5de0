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
  const price = (perHour: string, per30Days: string): string =>
    `${usdText(perHour)}/h (${usdText(per30Days)} in 30 days)`;
  const own = price(quote.costPerHourNanoUsd, quote.costPer30DaysNanoUsd);
  const { liveCostPerHourNanoUsd: live, liveCostPer30DaysNanoUsd: live30Days } = quote;
  return live === undefined || live30Days === undefined ? own : `${own}, live ${price(live, live30Days)}`;
}
