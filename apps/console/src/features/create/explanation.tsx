import type { Answer } from '@millrace/sdk';
import { Link } from '@tanstack/react-router';
import { PerHour } from '../../ui/money.tsx';
import { Ago, When } from '../../ui/time.tsx';
import { networkWords } from '../catalog/offers.ts';
import { picksOfWish, type Wish } from './picks.ts';
import { mayComeFree, whyNot } from './why-not.ts';

/** Few enough to read; the service lists the nearest first. */
const ALTERNATIVES_SHOWN = 4;

/** Why a machine cannot be had now, when it may be, and what could be had instead. */
export function Explanation({
  wish,
  explained,
}: {
  readonly wish: Wish;
  readonly explained: Answer<'explainPlacement'>;
}) {
  const { capacityExpectedAt, alternatives } = explained;
  return (
    <div className="flex flex-col gap-2">
      <p>{whyNot(explained)}</p>
      {(capacityExpectedAt !== null || mayComeFree(explained)) && (
        <p>
          {capacityExpectedAt === null ? (
            'When it will be free again is not known.'
          ) : (
            <>
              Enough is known to come free <Ago at={capacityExpectedAt} /> (<When at={capacityExpectedAt} />
              ), if nobody else takes it first.
            </>
          )}
        </p>
      )}
      {alternatives.length > 0 && (
        <div>
          <h3>What you could have now instead</h3>
          <ul className="mt-1 flex flex-col gap-1">
            {alternatives.slice(0, ALTERNATIVES_SHOWN).map((each) => (
              <li key={`${each.gpuType} ${String(each.gpuCount)} ${each.region} ${each.networkType}`}>
                <Link
                  to="/rent"
                  search={picksOfWish({
                    ...wish,
                    gpu: each.gpuType,
                    count: each.gpuCount,
                    region: each.region,
                    network: each.networkType,
                  })}
                  className="underline"
                >
                  {each.gpuCount} × {each.gpuType.toUpperCase()} in {each.region} (
                  {networkWords(each.networkType)})
                </Link>
                , <PerHour usd={each.costPerHour} /> on demand, {each.totalAvailable} free
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}
