import type { Input } from '@millrace/sdk';
import { useApiQuery } from '../../api/queries.ts';
import { LiveCost, Money } from '../../ui/money.tsx';
import { useDebounced } from '../../ui/logic/use-debounced.ts';
import { LinesSkeleton } from '../../ui/skeleton.tsx';
import { QueryView } from '../../ui/states.tsx';

export function VolumePrice({ region, sizeInGb }: Readonly<{ region: string; sizeInGb: number }>) {
  const request = { region: useDebounced(region, 250), sizeInGb: useDebounced(sizeInGb, 250) };
  const quote = useApiQuery(
    ['catalog', 'volume-quote', request],
    (client, signal) => client.volumes.quote(request as Input<'quoteStorageVolume'>, { signal }),
    { keepPrevious: true },
  );
  return (
    <QueryView query={quote} what="price" skeleton={<LinesSkeleton what="price" lines={1} />}>
      {({ costPerHourNanoUsd, costPer30DaysNanoUsd, ...quoted }) => (
        <dl className="bg-raised grid grid-cols-2 gap-2 rounded-md px-3 py-2">
          <div>
            <dt className="text-soft text-xs">Per hour</dt>
            <dd className="font-semibold">
              <Money nano={costPerHourNanoUsd} />
              <LiveCost nano={quoted.liveCostPerHourNanoUsd} perHour />
            </dd>
          </div>
          <div>
            <dt className="text-soft text-xs">30 days</dt>
            <dd className="font-semibold">
              <Money nano={costPer30DaysNanoUsd} />
              <LiveCost nano={quoted.liveCostPer30DaysNanoUsd} />
            </dd>
          </div>
        </dl>
      )}
    </QueryView>
  );
}
