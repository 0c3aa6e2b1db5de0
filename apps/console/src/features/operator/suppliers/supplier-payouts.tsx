import type { Item } from '@millrace/sdk';
import { usdText } from '@millrace/sdk/text';
import { SearchX } from 'lucide-react';
import { useState } from 'react';
import { StateBadge } from '../../../ui/badge.tsx';
import { CommandHint } from '../../../ui/copy.tsx';
import { FilterField, TextField } from '../../../ui/field.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Money } from '../../../ui/money.tsx';
import { Card } from '../../../ui/page.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import { ActionButton } from '../common/action-button.tsx';
import { payoutStatuses } from '../common/search-params.ts';
import { TextLink } from '../../../ui/link.tsx';

type Payout = Item<'adminListPayouts'>;

function Settle({ payout }: Readonly<{ payout: Payout }>) {
  const { id: payoutId, supplierName, amountNanoUsd, status } = payout;
  const [reference, setReference] = useState('');
  const settled = status !== 'requested' && `The payout is already ${status}.`;
  return (
    <span className="flex flex-wrap justify-end gap-1 md:justify-start">
      <ActionButton
        label="Mark as paid"
        title={`Mark ${usdText(amountNanoUsd)} to ${supplierName} as paid`}
        needs="admin:money"
        doing="Recording…"
        done="Marked as paid."
        off={settled}
        wait={reference.trim() === '' && 'Enter a payment reference.'}
        run={(client, reason) =>
          client.admin.payouts.settle({ payoutId, outcome: 'paid', reference: reference.trim(), reason })
        }
      >
        <p>
          Pay <Money nano={amountNanoUsd} /> first. You cannot undo this.
        </p>
        <TextField
          label="Reference"
          hint="For example the bank transfer number. The supplier sees it."
          value={reference}
          maxLength={255}
          issue="reference"
          onValue={setReference}
        />
      </ActionButton>
      <ActionButton
        label="Reject"
        title={`Reject the payout of ${usdText(amountNanoUsd)} to ${supplierName}`}
        kind="danger"
        needs="admin:money"
        doing="Rejecting…"
        done="Rejected. The money is payable again."
        off={settled}
        run={(client, reason) => client.admin.payouts.settle({ payoutId, outcome: 'rejected', reason })}
      >
        <p>
          <Money nano={amountNanoUsd} /> becomes payable again. The supplier sees the reason.
        </p>
      </ActionButton>
    </span>
  );
}

const columns: readonly Column<Payout>[] = [
  {
    head: 'Supplier',
    main: true,
    cell: ({ supplierName, organisationId }) => (
      <TextLink to="/operator/organisations/$organisationId" params={{ organisationId }}>
        {supplierName}
      </TextLink>
    ),
  },
  { head: 'Amount', right: true, cell: ({ amountNanoUsd }) => <Money nano={amountNanoUsd} /> },
  { head: 'Status', cell: ({ status }) => <StateBadge state={status} /> },
  { head: 'Requested', cell: ({ requestedAt }) => <Timestamp at={requestedAt} /> },
  {
    head: 'Settled',
    cell: ({ settledAt, reference, reason }) =>
      settledAt === null ? (
        'not yet'
      ) : (
        <>
          <Timestamp at={settledAt} />
          <span className="text-soft block text-xs">{[reference, reason].filter(Boolean).join('. ')}</span>
        </>
      ),
  },
  { head: 'Actions', cell: (payout) => <Settle payout={payout} /> },
];

export function SupplierPayouts({
  status,
  onStatus,
}: Readonly<{
  status: Payout['status'] | undefined;
  onStatus: (status: Payout['status'] | undefined) => void;
}>) {
  const filter = status === undefined ? {} : { status };
  const pages = usePages(['admin', 'payouts', filter], (client, signal) =>
    client.admin.payouts.list({ ...filter, limit: 50 }, { signal }),
  );
  return (
    <>
      <Card
        title="Payouts"
        flush
        actions={
          <FilterField
            label="Status"
            hideLabel
            value={status}
            all="All"
            choices={payoutStatuses}
            onValue={onStatus}
          />
        }
      >
        <PagedTable
          pages={pages}
          what="payouts"
          caption="Supplier payouts"
          columns={columns}
          icon={SearchX}
          empty="No payouts match"
          hint="Suppliers request payouts under “Earnings”."
        />
      </Card>
      <CommandHint command="millrace admin payout list" />
    </>
  );
}
