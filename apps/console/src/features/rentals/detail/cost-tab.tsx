import { Money } from '../../../ui/money.tsx';
import { Card, KeyFigures } from '../../../ui/page.tsx';
import { EmptyState, QueryView } from '../../../ui/states.tsx';
import { rentalBilling } from '../billing.ts';
import { CostLines } from './cost-lines.tsx';
import { unpostedAmount } from '../receipt.ts';
import type { Rental } from '../rental.ts';
import { useRentalCost } from '../use-rental.ts';

/** What it has cost by now, to the last nano-USD, and what that is made of. */
export function CostTab({ rental }: Readonly<{ rental: Rental }>) {
  const query = useRentalCost(rental);
  const billing = rentalBilling(rental);
  return (
    <QueryView query={query} what="cost">
      {(cost) => (
        <>
          <KeyFigures
            items={[
              { label: 'So far', value: <Money nano={cost.totalNanoUsd} />, note: 'the lines add up to it' },
              { label: 'In the ledger', value: <Money nano={cost.postedNanoUsd} /> },
              { label: 'Not posted yet', value: <Money nano={unpostedAmount(cost)} /> },
              { label: 'Set aside for it', value: <Money nano={cost.heldNanoUsd} /> },
              { label: 'An hour now', value: <Money nano={billing.perHour} />, note: billing.words },
            ]}
          />
          <Card title="Line by line">
            {cost.lines.length === 0 ? (
              <EmptyState title="Nothing was billed so far.">{billing.words}</EmptyState>
            ) : (
              <CostLines cost={cost} rentalId={rental.id} />
            )}
          </Card>
        </>
      )}
    </QueryView>
  );
}
