import { Readable } from 'node:stream';
import type { ResponseBody, Contract } from '@millrace/contract';
import type { Db } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import { bytesReply, requirePrincipal, type HttpServer, type Principal } from '@millrace/platform/http';
import { parseId } from '@millrace/platform/ids';
import { findOrganisation, pageById, positionFromCursor } from '../identity/index.ts';
import { monthOf } from '../ledger/index.ts';
import { exportCosts } from './cost-export.service.ts';
import type { TimeRange } from './day-ranges.ts';
import { numberText, type Invoice, type InvoiceSummary } from './invoice.ts';
import { findInvoice, listInvoices } from './invoices.store.ts';
import { PdfCache } from './pdf-cache.ts';
import { firstLine, renderPdf } from './pdf.ts';

export interface InvoiceRoutes {
  readonly server: HttpServer;
  readonly operations: Contract['operations'];
  readonly db: Db;
  readonly clock: { now(): Date };
  /** The invoice issuer: a name, and an address in further lines. */
  readonly issuer: string;
}

export function serveInvoices(routes: InvoiceRoutes): void {
  const { server, operations, db } = routes;
  const pdfCache = new PdfCache(renderPdf);
  server.serve(operations.listInvoices, async ({ query: { limit, cursor }, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const after = positionFromCursor('ivc', cursor);
    // Test mode is free and has no invoices.
    const rows = mode === 'live' ? await listInvoices(db, orgId, { limit, after }) : [];
    return pageById(rows, limit, toWireSummary);
  });

  server.serve(operations.getInvoice, async ({ params, context }) =>
    toWireInvoice(await requireInvoice(db, requirePrincipal(context), params.invoiceId)),
  );

  server.serve(operations.getInvoicePdf, async ({ params, context }) => {
    const invoice = await requireInvoice(db, requirePrincipal(context), params.invoiceId);
    const headers = { 'content-disposition': `attachment; filename="${numberText(invoice.number)}.pdf"` };
    return bytesReply(headers, () => pdfCache.get(invoice));
  });

  serveCostExport(routes);
}

function serveCostExport({ server, operations, db, issuer }: InvoiceRoutes): void {
  server.serve(operations.exportCosts, async ({ query, context }) => {
    const { orgId, mode } = requirePrincipal(context);
    const period = requirePeriod(query, db.clock.now());
    const organisation = await findOrganisation(db, orgId);
    if (organisation === null) throw new Error('A key has no organisation.');
    const parties = { orgId, orgName: organisation.name, issuer: firstLine(issuer) };
    const rows = exportCosts(db, { ...parties, mode, period });
    const name = `costs-${period.from.toISOString().slice(0, 10)}.csv`;
    return bytesReply({ 'content-disposition': `attachment; filename="${name}"` }, () =>
      Promise.resolve(Readable.from(rows)),
    );
  });
}

async function requireInvoice(db: Db, { orgId, mode }: Principal, text: string): Promise<Invoice> {
  const id = parseId('ivc', text);
  const invoice = id === null || mode !== 'live' ? null : await findInvoice(db, orgId, id);
  if (invoice === null) throw new Fault('INVOICE_NOT_FOUND');
  return invoice;
}

const DAYS_MAX = 366;
const dayMs = 86_400_000;

function requirePeriod(
  query: { readonly from?: string | undefined; readonly until?: string | undefined },
  now: Date,
): TimeRange {
  const until = query.until === undefined ? now : new Date(query.until);
  const from = query.from === undefined ? monthOf(until) : new Date(query.from);
  if (from > until) throw invalidField(['from'], 'must not be after until');
  if (until.getTime() - from.getTime() > DAYS_MAX * dayMs) {
    throw invalidField(['from'], `must be at most ${DAYS_MAX} days before until`);
  }
  return { from, until };
}

type Operations = Contract['operations'];

function toWireSummary(invoice: InvoiceSummary): ResponseBody<Operations['listInvoices']>['items'][number] {
  return {
    id: invoice.id,
    number: numberText(invoice.number),
    status: 'final',
    periodStart: invoice.periodStart.toISOString(),
    periodEnd: invoice.periodEnd.toISOString(),
    totalNanoUsd: invoice.total.toString(),
    finalizedAt: invoice.finalizedAt.toISOString(),
  };
}

function toWireInvoice(invoice: Invoice): ResponseBody<Operations['getInvoice']> {
  return {
    ...toWireSummary(invoice),
    currency: 'USD',
    issuer: invoice.issuer,
    billedTo: invoice.billedTo,
    lines: invoice.lines.map(({ amount, ...line }) => ({ ...line, amountNanoUsd: amount.toString() })),
  };
}
