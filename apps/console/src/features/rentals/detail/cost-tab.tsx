import { ReceiptText } from 'lucide-react';
import { LiveCost, Money, PerHour } from '../../../ui/money.tsx';
import { Card, KeyFigures } from '../../../ui/page.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import { rentalBilling } from '../billing.ts';
import { CostLines } from './cost-lines.tsx';
import { unpostedAmount } from '../receipt.ts';
import type { Rental } from '../rental.ts';
import { useRentalCost } from '../use-rental.ts';

export function CostTab({ rental }: Readonly<{ rental: Rental }>) {
  const query = useRentalCost(rental);
  const billing = rentalBilling(rental);
  return (
    <QueryView query={query} what="cost">
      {(cost) => (
        <>
          <KeyFigures
            items={[
              {
                label: 'Cost so far',
                value: <Money nano={cost.totalNanoUsd} />,
                note: (
                  <>
                    <LiveCost nano={cost.liveTotalNanoUsd} />
                    sum of the lines below
                  </>
                ),
              },
              { label: 'Posted to ledger', value: <Money nano={cost.postedNanoUsd} /> },
              { label: 'Not posted yet', value: <Money nano={unpostedAmount(cost)} /> },
              { label: 'Held', value: <Money nano={cost.heldNanoUsd} /> },
              {
                label: 'Current rate',
                value: <PerHour nano={billing.perHour} />,
                note: (
                  <>
                    <LiveCost nano={billing.livePerHour ?? undefined} perHour />
                    {billing.words}
                  </>
                ),
              },
            ]}
          />
          <Card title="Breakdown">
            {cost.lines.length === 0 ? (
              <EmptyState icon={ReceiptText} title="No charges yet">
                {billing.words}
              </EmptyState>
            ) : (
              <CostLines cost={cost} rentalId={rental.id} />
            )}
          </Card>
        </>
      )}
    </QueryView>
  );
}
