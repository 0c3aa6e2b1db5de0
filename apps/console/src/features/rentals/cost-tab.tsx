import { Money } from '../../ui/money.tsx';
import { Card, Figures } from '../../ui/page.tsx';
import { Empty, Shown } from '../../ui/states.tsx';
import { billingOf } from './billing.ts';
import { CostLines } from './cost-lines.tsx';
import { unposted } from './receipt.ts';
import type { Rental } from './rental.ts';
import { useRentalCost } from './use-rental.ts';

/** What it has cost by now, to the last nano-USD, and what that is made of. */
export function CostTab({ rental }: { readonly rental: Rental }) {
  const query = useRentalCost(rental);
  const billing = billingOf(rental);
  return (
    <Shown query={query} what="cost">
      {(cost) => (
        <>
          <Figures
            items={[
              { label: 'So far', value: <Money nano={cost.totalNanoUsd} />, note: 'the lines add up to it' },
              { label: 'In the ledger', value: <Money nano={cost.postedNanoUsd} /> },
              { label: 'Not posted yet', value: <Money nano={unposted(cost)} /> },
              { label: 'Set aside for it', value: <Money nano={cost.heldNanoUsd} /> },
              {
                label: 'An hour now',
                value: <Money nano={billing.perHour} />,
                note: billing.words,
              },
            ]}
          />
          <Card title="Line by line">
            {cost.lines.length === 0 ? (
              <Empty title="Nothing was billed so far.">{billing.words}</Empty>
            ) : (
              <CostLines cost={cost} rentalId={rental.id} />
            )}
          </Card>
        </>
      )}
    </Shown>
  );
}
