import { useParams } from '@tanstack/react-router';
import { ReceiptText } from 'lucide-react';
import { useApiQuery } from '../../api/queries.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { CommandHint, Id } from '../../ui/copy.tsx';
import { Money } from '../../ui/money.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { EmptyState, Note, QueryView } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Timestamp } from '../../ui/time.tsx';
import { monthText, sumOfLines, type Invoice } from './invoice.ts';
import { causeLink } from './ledger.ts';
import { PdfButton } from './pdf-button.tsx';
import { TextLink } from '../../ui/link.tsx';

interface Line {
  readonly nth: number;
  readonly line: Invoice['lines'][number];
}

const columns: readonly Column<Line>[] = [
  {
    head: 'Description',
    main: true,
    cell: ({ line: { description, cause } }) => {
      const link = cause === null ? null : causeLink(cause);
      return link === null ? (
        <span className="font-normal">{description}</span>
      ) : (
        <TextLink to={link.to} search={link.search ?? {}} className="font-normal">
          {description}
        </TextLink>
      );
    },
  },
  { head: 'Quantity', right: true, cell: ({ line: { quantity, unit } }) => `${quantity} ${unit}` },
  { head: 'Amount', right: true, cell: ({ line: { amountNanoUsd } }) => <Money nano={amountNanoUsd} /> },
];

export function InvoicePage() {
  const { invoiceId } = useParams({ from: '/shell/inside/invoices/$invoiceId' });
  const invoice = useApiQuery(['money', 'invoice', invoiceId], (client, signal) =>
    client.invoices.get({ invoiceId }, { signal }),
  );
  return (
    <>
      <PageHeader
        title={invoice.data === undefined ? 'Invoice' : `Invoice ${invoice.data.number}`}
        back={<TextLink to="/invoices">Invoices</TextLink>}
        actions={
          invoice.data !== undefined && <PdfButton invoiceId={invoiceId} number={invoice.data.number} />
        }
      />
      <QueryView query={invoice} what="invoice">
        {(data) => <InvoiceDetail invoice={data} />}
      </QueryView>
      <CommandHint command={`millrace invoice download ${invoiceId}`} />
    </>
  );
}

function InvoiceDetail({ invoice }: Readonly<{ invoice: Invoice }>) {
  const rows = invoice.lines.map((line, nth) => ({ nth, line }));
  const isSound = sumOfLines(invoice) === BigInt(invoice.totalNanoUsd);
  return (
    <>
      <Card title={monthText(invoice.periodStart)}>
        <DescriptionList
          items={[
            ['Total', <Money key="total" nano={invoice.totalNanoUsd} />],
            ['Status', <StateBadge key="status" state={invoice.status} />],
            ['Billed to', invoice.billedTo],
            [
              'Issued by',
              <span key="issuer" className="whitespace-pre-line">
                {invoice.issuer}
              </span>,
            ],
            invoice.finalizedAt === null
              ? null
              : ['Finalised', <Timestamp key="final" at={invoice.finalizedAt} />],
            ['ID', <Id key="id" value={invoice.id} what="invoice ID" />],
          ]}
        />
      </Card>
      {!isSound && (
        <div role="alert" className="mb-4">
          <Note tone="bad">The lines do not add up to the total. Report this to the operator.</Note>
        </div>
      )}
      <Card title="Line items" flush>
        {rows.length === 0 ? (
          <EmptyState icon={ReceiptText} title="No line items" />
        ) : (
          <Table
            caption={`Line items of ${invoice.number}`}
            columns={columns}
            rows={rows}
            rowKey={({ nth }) => String(nth)}
          />
        )}
      </Card>
    </>
  );
}
