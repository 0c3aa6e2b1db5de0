import { useNow } from '../../../ui/time.tsx';
import { Card } from '../../../ui/page.tsx';
import { ConnectCard } from './connect-card.tsx';
import { DetailsCard } from './details-card.tsx';
import { ReceiptCard } from './receipt-card.tsx';
import { hasEnded, type Rental } from '../rental.ts';
import { pastSteps, rentalProgress } from '../steps.ts';
import { StepList } from './step-list.tsx';
import { VolumesCard } from './volumes-card.tsx';

export function OverviewTab({ rental }: Readonly<{ rental: Rental }>) {
  const now = useNow(5_000);
  const hasHistory = rental.steps.length > 0 && rentalProgress(rental, now) === null;
  return (
    <>
      {hasEnded(rental) ? <ReceiptCard rental={rental} /> : <ConnectCard rental={rental} />}
      <DetailsCard rental={rental} />
      {!hasEnded(rental) && <VolumesCard rental={rental} />}
      {hasHistory && (
        <Card title="Provisioning">
          <StepList steps={pastSteps(rental, now)} label="Completed steps" />
        </Card>
      )}
    </>
  );
}
