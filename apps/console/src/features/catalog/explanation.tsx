import type { Output } from '@millrace/sdk';
import { PerHour } from '../../ui/money.tsx';
import { RelativeTime, Timestamp } from '../../ui/time.tsx';
import { networkText } from '../rentals/rental.ts';
import { selectionFromSpec, type RentalSpec } from './selection.ts';
import { mayBecomeAvailable, mainObstacle } from './placement-obstacles.ts';
import { TextLink } from '../../ui/link.tsx';

/** The service lists the nearest first. */
const ALTERNATIVES_SHOWN = 4;

/** Explains why a machine is not available, when it may be, and which alternatives exist. */
export function PlacementExplanation({
  spec,
  explained,
}: Readonly<{ spec: RentalSpec; explained: Output<'explainPlacement'> }>) {
  const { capacityExpectedAt, alternatives } = explained;
  return (
    <div className="flex flex-col gap-2">
      <p>{mainObstacle(explained)}</p>
      {(capacityExpectedAt !== null || mayBecomeAvailable(explained)) && (
        <p>
          {capacityExpectedAt === null ? (
            'We do not know when it will be available.'
          ) : (
            <>
              Expected to be available <RelativeTime at={capacityExpectedAt} /> (
              <Timestamp at={capacityExpectedAt} />
              ), unless someone else rents it first.
            </>
          )}
        </p>
      )}
      {alternatives.length > 0 && (
        <div>
          <h3>Available alternatives</h3>
          <ul className="mt-1 flex flex-col gap-1">
            {alternatives.slice(0, ALTERNATIVES_SHOWN).map((each) => (
              <li key={`${each.gpuType} ${String(each.gpuCount)} ${each.region} ${each.networkType}`}>
                <TextLink
                  to="/rent"
                  search={selectionFromSpec({
                    ...spec,
                    gpu: each.gpuType,
                    count: each.gpuCount,
                    region: each.region,
                    network: each.networkType,
                  })}
                >
                  {each.gpuCount} × {each.gpuType.toUpperCase()} in {each.region} (
                  {networkText(each.networkType)})
                </TextLink>
                , <PerHour usd={each.costPerHour} /> on demand, {each.totalAvailable} available
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}
