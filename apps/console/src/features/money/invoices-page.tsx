import type { Item } from '@millrace/sdk';
import { ReceiptText } from 'lucide-react';
import { StateBadge } from '../../ui/badge.tsx';
import { CommandHint } from '../../ui/copy.tsx';
import { PagedTable, usePages } from '../../ui/list.tsx';
import { monthText } from '../../ui/logic/day-text.ts';
import { HeadlineMoney } from '../../ui/money.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import type { Column } from '../../ui/table.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { paymentText } from './invoice.ts';
import { PdfButton } from './pdf-button.tsx';
import { TextLink } from '../../ui/link.tsx';

type Invoice = Item<'listInvoices'>;

const columns: readonly Column<Invoice>[] = [
  {
    head: 'Number',
    main: true,
    cell: ({ id, number }) => (
      <TextLink to="/invoices/$invoiceId" params={{ invoiceId: id }}>
        {number}
      </TextLink>
    ),
  },
  { head: 'Month', cell: ({ periodStart }) => monthText(periodStart) },
  {
    head: 'Status',
    cell: (invoice) => (
      <>
        <StateBadge state={invoice.status} />
        <span className="text-soft block text-xs">{paymentText(invoice)}</span>
      </>
    ),
  },
  {
    head: 'Finalised',
    cell: ({ finalizedAt }) => (finalizedAt === null ? '–' : <Timestamp at={finalizedAt} />),
  },
  { head: 'Total', right: true, cell: ({ totalNanoUsd }) => <HeadlineMoney nano={totalNanoUsd} /> },
  { head: 'File', cell: ({ id, number }) => <PdfButton invoiceId={id} number={number} size="small" /> },
];

export function InvoicesPage() {
  const invoices = usePages(['money', 'invoices'], (client, signal) => client.invoices.list({}, { signal }));
  return (
    <>
      <PageHeader
        title="Invoices"
        about="One per calendar month (UTC) with charges, issued a few hours after the month ends. Your balance pays every charge at once, so an invoice is never due."
      />
      <Card flush>
        <PagedTable
          pages={invoices}
          what="invoices"
          caption="Invoices, newest first"
          columns={columns}
          icon={ReceiptText}
          empty="No invoices yet"
          action={<TextLink to="/ledger">View ledger</TextLink>}
          hint="You get your first invoice after the first month in which you spend money."
        />
      </Card>
      <CommandHint command="millrace invoice list" />
    </>
  );
}
