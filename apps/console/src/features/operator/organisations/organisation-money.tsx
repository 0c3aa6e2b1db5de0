import type { Output, Item } from '@millrace/sdk';
import { Scale } from 'lucide-react';
import { useApiQuery } from '../../../api/queries.ts';
import { Badge } from '../../../ui/badge.tsx';
import { PagedTable, usePages } from '../../../ui/list.tsx';
import { Money } from '../../../ui/money.tsx';
import { Card, KeyFigures } from '../../../ui/page.tsx';
import { Note, QueryView } from '../../../ui/states.tsx';
import type { Column } from '../../../ui/table.tsx';
import { Timestamp } from '../../../ui/time.tsx';
import {
  AdjustButton,
  GrantButton,
  OverdraftButton,
  RefundButton,
  ReverseButton,
  UnfreezeButton,
} from './balance-actions.tsx';
import { LinkButton } from '../../../ui/link.tsx';
import { NamedId } from '../common/named-id.tsx';

type Organisation = Output<'adminGetOrganisation'>;
type Balance = Output<'adminGetBalance'>;
type Transfer = Item<'adminListTransfers'>;

export function OrganisationMoney({ organisation }: Readonly<{ organisation: Organisation }>) {
  const { id: organisationId } = organisation;
  const balance = useApiQuery(
    ['admin', 'organisation', organisationId, 'balance'],
    (client, signal) => client.admin.organisations.getBalance({ organisationId }, { signal }),
    { refetchMs: 5_000 },
  );
  return (
    <QueryView query={balance} what="balance">
      {(loaded) => (
        <>
          <BalanceFigures organisation={organisation} balance={loaded} />
          <Transfers organisation={organisation} balance={loaded} />
        </>
      )}
    </QueryView>
  );
}

function BalanceFigures(props: Readonly<{ organisation: Organisation; balance: Balance }>) {
  const { organisation, balance } = props;
  return (
    <>
      {balance.frozen && (
        <div className="mb-4">
          <Note tone="bad">
            <div className="flex flex-wrap items-center justify-between gap-2">
              <span>The balance is frozen after a disputed payment. No new work can start.</span>
              <UnfreezeButton organisation={organisation} />
            </div>
          </Note>
        </div>
      )}
      <KeyFigures
        items={[
          { label: 'Balance', value: <Money nano={balance.balanceNanoUsd} /> },
          { label: 'Held', value: <Money nano={balance.heldNanoUsd} />, note: 'for running resources' },
          { label: 'Available', value: <Money nano={balance.availableNanoUsd} />, note: 'for new work' },
          { label: 'Overdraft', value: <Money nano={balance.maxOverdraftNanoUsd} />, note: 'allowed' },
        ]}
      />
      <div className="mb-4 flex flex-wrap gap-2">
        <GrantButton organisation={organisation} balance={balance} />
        <AdjustButton organisation={organisation} balance={balance} />
        <OverdraftButton organisation={organisation} balance={balance} />
        <LinkButton to="/operator/prices" search={{ organisation: organisation.id, tab: 'all' }} size="small">
          Contract prices
        </LinkButton>
      </div>
    </>
  );
}

function Transfers({ organisation, balance }: Readonly<{ organisation: Organisation; balance: Balance }>) {
  const { id: organisationId, name } = organisation;
  const pages = usePages(['admin', 'organisation', organisationId, 'transfers'], (client, signal) =>
    client.admin.transfers.list({ organisationId, limit: 50 }, { signal }),
  );
  const columns: readonly Column<Transfer>[] = [
    { head: 'Time', main: true, cell: ({ occurredAt }) => <Timestamp at={occurredAt} /> },
    { head: 'Type', cell: ({ kind }) => <Badge>{kind.replaceAll('_', ' ')}</Badge> },
    {
      head: 'Description',
      cell: ({ description, reason, cause }) => (
        <>
          {description}
          <span className="text-soft block text-xs">
            <NamedId kind={cause.kind} id={cause.id} />
            {reason !== null && <>. Reason: {reason}</>}
          </span>
        </>
      ),
    },
    { head: 'Amount', right: true, cell: ({ amountNanoUsd }) => <Money nano={amountNanoUsd} signed /> },
    { head: 'Balance after', right: true, cell: (row) => <Money nano={row.balanceAfterNanoUsd} /> },
    {
      head: 'Actions',
      cell: (transfer) => (
        <span className="flex flex-wrap justify-end gap-1 md:justify-start">
          {transfer.kind === 'charge' && (
            <RefundButton organisation={organisation} balance={balance} transfer={transfer} />
          )}
          <ReverseButton organisation={organisation} balance={balance} transfer={transfer} />
        </span>
      ),
    },
  ];
  return (
    <Card title="Ledger" about="All entries, newest first." flush>
      <PagedTable
        pages={pages}
        what="entries"
        caption={`Ledger of ${name}`}
        columns={columns}
        icon={Scale}
        empty="No entries yet"
        hint="Grant credit so that the organisation can start."
      />
    </Card>
  );
}
