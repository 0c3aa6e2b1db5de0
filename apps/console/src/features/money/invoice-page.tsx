import { useParams } from '@tanstack/react-router';
import { ReceiptText } from 'lucide-react';
import { useApiQuery } from '../../api/queries.ts';
import type { ResourceNames } from '../../api/resource-names.ts';
import { useResourceNames } from '../../api/use-resource-names.ts';
import { StateBadge } from '../../ui/badge.tsx';
import { CommandHint, Id } from '../../ui/copy.tsx';
import { monthText } from '../../ui/logic/day-text.ts';
import { HeadlineMoney, Money } from '../../ui/money.tsx';
import { Card, DescriptionList, PageHeader } from '../../ui/page.tsx';
import { TableSkeleton } from '../../ui/skeleton.tsx';
import { EmptyState, Note, QueryView } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Timestamp } from '../../ui/time.tsx';
import {
  lineTexts,
  meanPrice,
  paymentText,
  quantityText,
  sumOfLines,
  type Invoice,
  type InvoiceLine,
} from './invoice.ts';
import { causeLink } from './ledger.ts';
import { PdfButton } from './pdf-button.tsx';
import { TextLink } from '../../ui/link.tsx';

interface Line {
  readonly nth: number;
  readonly line: InvoiceLine;
}

const columnsOf = (nameOf: ResourceNames['nameOf']): readonly Column<Line>[] => [
  {
    head: 'Description',
    main: true,
    cell: ({ line }) => {
      const link = line.cause === null ? null : causeLink(line.cause);
      const { title, detail } = lineTexts(line, nameOf);
      return (
        <span className="font-normal">
          {link === null ? (
            title
          ) : (
            <TextLink to={link.to} search={link.search ?? {}}>
              {title}
            </TextLink>
          )}
          {detail !== null && <span className="text-soft block text-xs">{detail}</span>}
        </span>
      );
    },
  },
  { head: 'Quantity', right: true, cell: ({ line }) => quantityText(line) },
  {
    head: 'Mean price',
    right: true,
    cell: ({ line }) => {
      const mean = meanPrice(line);
      return mean === null ? (
        '–'
      ) : (
        <>
          {mean.price}
          <span className="text-soft block text-xs">{mean.per}</span>
        </>
      );
    },
  },
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
  const names = useResourceNames(invoice.lines.flatMap(({ cause }) => cause ?? []));
  const isSound = sumOfLines(invoice) === BigInt(invoice.totalNanoUsd);
  return (
    <>
      <Card title={monthText(invoice.periodStart)}>
        <DescriptionList
          items={[
            ['Total', <HeadlineMoney key="total" nano={invoice.totalNanoUsd} />],
            [
              'Status',
              <span key="status">
                <StateBadge state={invoice.status} /> {paymentText(invoice)}
                {invoice.status === 'final' && ', nothing is due'}
              </span>,
            ],
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
        {names.isLoading ? (
          <TableSkeleton what="line items" columns={4} />
        ) : rows.length === 0 ? (
          <EmptyState icon={ReceiptText} title="No line items" />
        ) : (
          <>
            <Table
              caption={`Line items of ${invoice.number}`}
              columns={columnsOf(names.nameOf)}
              rows={rows}
              rowKey={({ nth }) => String(nth)}
            />
            <p className="border-line flex justify-between gap-3 border-t px-4 py-2.5 font-medium">
              <span>Total</span>
              <Money nano={invoice.totalNanoUsd} />
            </p>
          </>
        )}
      </Card>
    </>
  );
}
