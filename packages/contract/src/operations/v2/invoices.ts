import { z } from 'zod';
import { periodQuery } from './billing.ts';
import {
  nanoUsd,
  v2Operation,
  pageOf,
  pageQuery,
  prefixedId,
  timestamp,
  resourceRef,
} from '../../operation-builders.ts';

/** What a month cost, as a document, and every cost as a table that tools of others read. */

const invoiceId = prefixedId('ivc', 'an invoice');

const invoiceLine = z.object({
  description: z.string(),
  cause: resourceRef.nullable().meta({
    description:
      'The rental, instance, volume or model; null where the smallest lines of a long invoice are summed up.',
  }),
  quantity: z.string().meta({ description: 'In the unit named, as a decimal string.' }),
  unit: z.string(),
  amountNanoUsd: nanoUsd,
});

const invoiceFields = {
  id: invoiceId,
  number: z.string().meta({
    description: 'Counted without holes over all invoices of the installation.',
    examples: ['INV-00000042'],
  }),
  status: z.enum(['draft', 'final', 'void']).meta({
    description: 'Only final invoices exist so far: corrections are on the next one.',
  }),
  periodStart: timestamp,
  periodEnd: timestamp.meta({ description: 'The month ends before this moment.' }),
  totalNanoUsd: nanoUsd.meta({
    description:
      'What was charged in the month less what was given back in it; below zero where more was given back.',
  }),
  finalizedAt: timestamp.nullable(),
};

const invoice = z.object(invoiceFields).meta({ id: 'Invoice' });
const invoiceWithLines = z
  .object({
    ...invoiceFields,
    currency: z.literal('USD'),
    issuer: z.string().meta({ description: 'Who issued it: a name, and an address in further lines.' }),
    billedTo: z.string().meta({ description: 'The name of the organisation when the invoice was made.' }),
    lines: z.array(invoiceLine).meta({ description: 'Their amounts come to the total, to the nano-USD.' }),
  })
  .meta({ id: 'InvoiceWithLines' });

const invoiceParams = z.object({ invoiceId });
const fileHeaders = { 'Content-Disposition': 'A name for the file.' };

export const invoiceOperations = {
  listInvoices: v2Operation('GET /v2/customer/invoices', {
    scope: 'billing:read',
    summary: 'List invoices, newest first',
    description:
      'One for each calendar month (UTC) in which something was charged or given back, made some hours after its end. Test keys have none: test mode is free.',
    tags: ['customer'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(invoice) },
  }),
  getInvoice: v2Operation('GET /v2/customer/invoices/{invoiceId}', {
    scope: 'billing:read',
    summary: 'Read an invoice with its lines',
    tags: ['customer'],
    params: invoiceParams,
    response: { status: 200, schema: invoiceWithLines },
    notFoundReason: 'INVOICE_NOT_FOUND',
  }),
  getInvoicePdf: v2Operation('GET /v2/customer/invoices/{invoiceId}/pdf', {
    scope: 'billing:read',
    summary: 'An invoice as a PDF file',
    tags: ['customer'],
    params: invoiceParams,
    response: {
      status: 200,
      schema: z.instanceof(Uint8Array).meta({ description: 'The PDF file.' }),
      contentType: 'application/pdf',
      headers: fileHeaders,
    },
    notFoundReason: 'INVOICE_NOT_FOUND',
  }),
  exportCosts: v2Operation('GET /v2/customer/cost-export', {
    scope: 'billing:read',
    summary: 'Every cost as CSV, in the columns of FOCUS 1.2',
    description:
      'One row for each day (UTC), thing, unit and API key, oldest first; `BilledCost` comes to what the ledger charged less what was given back, to the nano-USD. Without `from`, the month of `until` so far; at most 366 days. An answer that breaks off is not complete: its connection ends without the last chunk.',
    tags: ['customer'],
    query: z.object(periodQuery),
    response: {
      status: 200,
      schema: z.instanceof(Uint8Array).meta({ description: 'CSV (RFC 4180) with a line of names.' }),
      contentType: 'text/csv',
      headers: fileHeaders,
    },
  }),
} as const;
