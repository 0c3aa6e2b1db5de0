import { Money } from '../../../ui/money.tsx';
import { Table } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { durationText, meterLabel, type CostLine } from '../receipt.ts';
import type { RentalCost } from '../rental.ts';
import { TextLink } from '../../../ui/link.tsx';

export function CostLines({ cost, rentalId }: Readonly<{ cost: RentalCost; rentalId: number }>) {
  return (
    <div className="border-line -mx-4 border-y">
      <Table<CostLine>
        caption="Cost breakdown"
        rows={cost.lines}
        rowKey={({ meter, from, amountNanoUsd }) => `${meter} ${from} ${amountNanoUsd}`}
        columns={[
          { head: 'Item', main: true, cell: ({ meter }) => meterLabel(meter) },
          { head: 'From', cell: ({ from }) => <Timestamp at={from} /> },
          { head: 'Until', cell: ({ until }) => (until === null ? 'ongoing' : <Timestamp at={until} />) },
          { head: 'Duration', right: true, cell: durationText },
          {
            head: 'Per hour',
            right: true,
            cell: ({ costPerHourNanoUsd }) => <Money nano={costPerHourNanoUsd} />,
          },
          { head: 'Amount', right: true, cell: ({ amountNanoUsd }) => <Money nano={amountNanoUsd} /> },
          { head: 'Ledger', cell: (line) => <Entries line={line} rentalId={rentalId} /> },
        ]}
      />
    </div>
  );
}

function Entries({ line, rentalId }: Readonly<{ line: CostLine; rentalId: number }>) {
  const ids = line.transferIds;
  if (ids.length === 0) {
    const isFree = BigInt(line.amountNanoUsd) === 0n;
    return <span className="text-soft">{isFree ? '–' : 'not posted yet'}</span>;
  }
  return (
    <TextLink
      to="/ledger"
      search={{ causeKind: 'rental', causeId: String(rentalId) }}
      className="text-accent"
      title={ids.join(', ')}
    >
      {ids.length === 1 ? '1 entry' : `${String(ids.length)} entries`}
    </TextLink>
  );
}
