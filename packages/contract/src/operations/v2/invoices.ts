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

/** Monthly invoices, and the cost export for other tools. */

const invoiceId = prefixedId('ivc', 'an invoice');

const invoiceLine = z.object({
  description: z.string(),
  cause: resourceRef.nullable().meta({
    description:
      'The rental, instance, volume or model; null for the sum of the smallest lines of a long invoice.',
  }),
  quantity: z.string().meta({ description: 'In the named unit, as a decimal string.' }),
  unit: z.string(),
  amountNanoUsd: nanoUsd,
});

const invoiceFields = {
  id: invoiceId,
  number: z.string().meta({
    description: 'Increases without gaps over all invoices of the installation.',
    examples: ['INV-00000042'],
  }),
  status: z.enum(['draft', 'final', 'void']).meta({
    description: 'All invoices are final: corrections are on the next one.',
  }),
  periodStart: timestamp,
  periodEnd: timestamp.meta({ description: 'The month ends before this time.' }),
  totalNanoUsd: nanoUsd.meta({
    description: 'Charges less refunds in the month; below zero if refunds exceed charges.',
  }),
  finalizedAt: timestamp.nullable(),
};

const invoice = z.object(invoiceFields).meta({ id: 'Invoice' });
const invoiceWithLines = z
  .object({
    ...invoiceFields,
    currency: z.literal('USD'),
    issuer: z.string().meta({ description: 'The issuer: a name, and an address in further lines.' }),
    billedTo: z.string().meta({ description: 'The name of the organisation when the invoice was issued.' }),
    lines: z.array(invoiceLine).meta({ description: 'The amounts add up to the total, to the nano-USD.' }),
  })
  .meta({ id: 'InvoiceWithLines' });

const invoiceParams = z.object({ invoiceId });
const fileHeaders = { 'Content-Disposition': 'A name for the file.' };

export const invoiceOperations = {
  listInvoices: v2Operation('GET /v2/customer/invoices', {
    scope: 'billing:read',
    summary: 'List invoices, newest first',
    description:
      'One per calendar month (UTC) with charges or refunds, issued some hours after its end. Test mode is free and has no invoices.',
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
    summary: 'Download an invoice as a PDF file',
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
    summary: 'Export all costs as CSV, in the columns of FOCUS 1.2',
    description:
      'One row per day (UTC), resource, unit and API key, oldest first. `BilledCost` adds up to the charges of the ledger less refunds, to the nano-USD. Without `from`, the month of `until` so far; at most 366 days. A response without its last chunk is incomplete.',
    tags: ['customer'],
    query: z.object(periodQuery),
    response: {
      status: 200,
      schema: z.instanceof(Uint8Array).meta({ description: 'CSV (RFC 4180) with a header line.' }),
      contentType: 'text/csv',
      headers: fileHeaders,
    },
  }),
} as const;
