import { useNow } from '../../ui/time.tsx';
import { Card } from '../../ui/page.tsx';
import { ConnectCard } from './connect-card.tsx';
import { FactsCard } from './facts-card.tsx';
import { ReceiptCard } from './receipt-card.tsx';
import { isOver, type Rental } from './rental.ts';
import { pastSteps, progressOf } from './steps.ts';
import { StepList } from './step-list.tsx';
import { VolumesCard } from './volumes-card.tsx';

export function OverviewTab({ rental }: { readonly rental: Rental }) {
  const now = useNow(5_000);
  const hasHistory = rental.steps.length > 0 && progressOf(rental, now) === null;
  return (
    <>
      {isOver(rental) ? <ReceiptCard rental={rental} /> : <ConnectCard rental={rental} />}
      <FactsCard rental={rental} />
      {!isOver(rental) && <VolumesCard rental={rental} />}
      {hasHistory && (
        <Card title="How it was brought up">
          <StepList steps={pastSteps(rental, now)} label="Steps so far" />
        </Card>
      )}
    </>
  );
}
