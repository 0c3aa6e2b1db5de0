import type { Output, Item } from '../sdk.ts';
import { usdText } from '@millrace/sdk/text';
import { dayText, timestampText } from '../text/timestamps.ts';

type Invoice = Item<'listInvoices'>;
type InvoiceLine = Output<'getInvoice'>['lines'][number];

export const invoiceColumns = [
  { name: 'number', value: (invoice: Invoice) => invoice.number },
  { name: 'from', value: (invoice: Invoice) => dayText(invoice.periodStart) },
  { name: 'until', value: (invoice: Invoice) => dayText(invoice.periodEnd) },
  { name: 'total', align: 'right', value: (invoice: Invoice) => usdText(invoice.totalNanoUsd) },
  { name: 'status', value: (invoice: Invoice) => invoice.status },
  {
    name: 'finalized',
    value: ({ finalizedAt }: Invoice) => (finalizedAt === null ? '' : timestampText(finalizedAt)),
  },
  { name: 'id', value: (invoice: Invoice) => invoice.id },
] as const;

export const invoiceLineColumns = [
  { name: 'description', value: (line: InvoiceLine) => line.description },
  { name: 'quantity', align: 'right', value: (line: InvoiceLine) => line.quantity },
  { name: 'unit', value: (line: InvoiceLine) => line.unit },
  { name: 'amount', align: 'right', value: (line: InvoiceLine) => usdText(line.amountNanoUsd) },
  { name: 'cause', value: ({ cause }: InvoiceLine) => (cause === null ? '' : `${cause.kind}:${cause.id}`) },
] as const;
