import { usdText } from '@millrace/sdk/text';
import { LiveCost, PerHour } from '../../ui/money.tsx';
import type { Billing } from './billing.ts';

interface HourlyCostProps extends Pick<Billing, 'perHour' | 'livePerHour'> {
  readonly whileRunning?: Billing['whileRunning'] | undefined;
  readonly isPrepaid?: true | undefined;
}

/** The current cost per hour of a rental or another resource, and its price while it runs if that differs. */
export function HourlyCost({ perHour, livePerHour, whileRunning = null, isPrepaid }: HourlyCostProps) {
  return (
    <>
      <PerHour nano={perHour} />
      <LiveCost nano={livePerHour ?? undefined} perHour />
      {whileRunning !== null && (
        <span className="text-soft block text-xs font-normal">
          {`${usdText(whileRunning.nano)}/h ${whileRunning.isLive ? 'live ' : ''}while running`}
        </span>
      )}
      {isPrepaid && <span className="text-soft block text-xs">from the reserved term</span>}
    </>
  );
}
