import { CopyButton } from '../../../ui/copy.tsx';
import { LiveCost, Money } from '../../../ui/money.tsx';
import { Card, DescriptionList } from '../../../ui/page.tsx';
import { Note, QueryView } from '../../../ui/states.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { CostLines } from './cost-lines.tsx';
import { billedSpan, unpostedAmount } from '../receipt.ts';
import { rentalTitle, type Rental } from '../rental.ts';
import { useRentalCost } from '../use-rental.ts';
import { TextLink } from '../../../ui/link.tsx';

export function ReceiptCard({ rental }: Readonly<{ rental: Rental }>) {
  const query = useRentalCost(rental);
  return (
    <Card
      title="Receipt"
      about={rentalTitle(rental)}
      actions={
        <TextLink to="/ledger" search={{ causeKind: 'rental', causeId: String(rental.id) }}>
          In the ledger
        </TextLink>
      }
    >
      <QueryView query={query} what="receipt">
        {(cost) => {
          const span = billedSpan(cost.lines);
          return (
            <div className="flex flex-col gap-4">
              <p className="text-2xl font-semibold">
                <Money nano={cost.totalNanoUsd} />
                <LiveCost nano={cost.liveTotalNanoUsd} />
              </p>
              <DescriptionList
                items={[
                  ['Billed from', span === null ? 'Never billed' : <Timestamp key="from" at={span.from} />],
                  span?.until == null ? null : ['Billed until', <Timestamp key="until" at={span.until} />],
                  [
                    'In the ledger',
                    <span key="posted" className="inline-flex items-center gap-1">
                      <Money nano={cost.postedNanoUsd} />
                      <CopyButton text={cost.postedNanoUsd} what="amount in nano-USD" />
                    </span>,
                  ],
                  BigInt(cost.heldNanoUsd) === 0n
                    ? null
                    : ['Still held', <Money key="held" nano={cost.heldNanoUsd} />],
                ]}
              />
              {unpostedAmount(cost) !== 0n && (
                <Note>The last charges are posted to the ledger within minutes.</Note>
              )}
              {cost.lines.length > 0 && <CostLines cost={cost} rentalId={rental.id} />}
            </div>
          );
        }}
      </QueryView>
    </Card>
  );
}
