import type { Db, Tx } from '@millrace/platform/db';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import type { Logger } from '@millrace/platform/log';
import { createItemRunner } from '@millrace/platform/loops';
import { appendOutbox } from '@millrace/platform/outbox';
import { counter } from '@millrace/platform/telemetry';
import { MONTH_CLOSED_AFTER_MS, monthAfter, monthOf, readFirstTransferTime } from '../ledger/index.ts';
import type { CostSum } from './costs.ts';
import { sumCosts } from './costs.store.ts';
import { daysOf } from './day-ranges.ts';
import { invoiceLinesOf, numberText, totalOf, type Invoice, type InvoiceLine } from './invoice.ts';
import {
  startInvoiceRun,
  findUninvoiced,
  insertInvoice,
  listCandidates,
  listInvoiceRuns,
  lockInvoiceCounter,
  advanceRunPosition,
  readNewestRunMonth,
  nextInvoiceNumber,
  type InvoiceRun,
} from './invoices.store.ts';
import { makeInvoicesLoop } from './loops.ts';

const made = counter('millrace_invoices_total');
const failures = counter('millrace_invoice_failures_total');

const isolation = 'read committed';

export interface InvoiceSweep {
  readonly log: Pick<Logger, 'warn'>;
  readonly limit: number;
  readonly issuer: string;
}

/**
 * Processes the next organisations of the oldest closed month without a finished run, and makes their invoices. Returns
 * the limit if there may be more work, otherwise 0. Several workers may run concurrently: each invoice is made once. A
 * failing invoice blocks no other month: its run restarts when nothing else is due.
 */
export async function makeDueInvoices(db: Db, options: InvoiceSweep): Promise<number> {
  const walk = await findOrStartRun(db);
  if (walk !== null) return (await advanceInvoiceRun(db, walk, options)) === 'failed' ? 0 : options.limit;
  let underWay = 0;
  for (const again of await listInvoiceRuns(db, 'to restart')) {
    if ((await advanceInvoiceRun(db, again, options)) === 'continues') underWay += 1;
  }
  return underWay === 0 ? 0 : options.limit;
}

async function advanceInvoiceRun(
  db: Db,
  walk: InvoiceRun,
  options: InvoiceSweep,
): Promise<'continues' | 'finished' | 'failed'> {
  const { limit } = options;
  const period = { from: walk.month, until: monthAfter(walk.month) };
  const candidates = await listCandidates(db, walk, { until: period.until, limit });
  const due = candidates.filter(({ isDue }) => isDue);
  // A failed invoice must not delay those of other organisations. The next run retries it.
  const { failed, skipped } = await createItemRunner(makeInvoicesLoop, { db, log: options.log }).run(due, {
    key: ({ orgId }) => `${toUuid(orgId)} ${walk.month.toISOString()}`,
    work: ({ orgId }) => makeInvoice(db, orgId, { period, issuer: options.issuer }),
  });
  failures.add(failed);
  const hasFailed = failed + skipped > 0;
  const isLast = candidates.length < limit;
  const step = { to: candidates.at(-1)?.orgId ?? walk.after, hasFailed, isLast };
  const isFinished = await db.transaction({ name: 'move invoice walk', isolation }, (tx) =>
    advanceRunPosition(tx, walk, step),
  );
  if (!isLast) return 'continues';
  return isFinished ? 'finished' : 'failed';
}

/** The run in progress, or a new run for the next closed month; null without both. */
async function findOrStartRun(db: Db): Promise<InvoiceRun | null> {
  const [underWay] = await listInvoiceRuns(db, 'in progress');
  if (underWay !== undefined) return underWay;
  const newest = await readNewestRunMonth(db);
  const first = newest === null ? await readFirstTransferTime(db) : null;
  const month = newest === null ? first && monthOf(first) : monthAfter(newest);
  if (month === null) return null;
  const closedMs = monthAfter(month).getTime() + MONTH_CLOSED_AFTER_MS;
  if (db.clock.nowMs() < closedMs) return null;
  const hasStarted = await db.transaction({ name: 'begin invoice walk', isolation }, async (tx) => {
    if (tx.clock.nowMs() < closedMs) return false;
    await startInvoiceRun(tx, month);
    return true;
  });
  return hasStarted ? { month, after: null } : null;
}

interface InvoiceInput {
  readonly period: { readonly from: Date; readonly until: Date };
  readonly issuer: string;
}

/** Sums outside of a transaction, because it may take long and a closed month does not change. */
async function makeInvoice(db: Db, orgId: OrgId, making: InvoiceInput): Promise<void> {
  const costs: CostSum[] = [];
  for (const day of daysOf(making.period))
    costs.push(...(await sumCosts(db, orgId, { ...day, mode: 'live' })));
  const lines = invoiceLinesOf(costs);
  if (lines.length === 0) return;
  const isMade = await db.transaction({ name: 'make invoice', isolation }, (tx) =>
    writeInvoice(tx, orgId, lines, making),
  );
  if (isMade) made.add(1);
}

/** Number, invoice and event are one transaction. Returns false if another worker was first. */
async function writeInvoice(
  tx: Tx,
  orgId: OrgId,
  lines: readonly InvoiceLine[],
  { period, issuer }: InvoiceInput,
): Promise<boolean> {
  await lockInvoiceCounter(tx);
  const billedTo = await findUninvoiced(tx, orgId, period.from);
  if (billedTo === null) return false;
  const invoice: Invoice = {
    id: tx.ids.next('ivc'),
    orgId,
    number: await nextInvoiceNumber(tx),
    periodStart: period.from,
    periodEnd: period.until,
    total: totalOf(lines),
    finalizedAt: tx.clock.now(),
    issuer,
    billedTo,
    lines,
  };
  await insertInvoice(tx, invoice);
  await appendOutbox(tx, {
    kind: 'event',
    type: 'invoice.finalized',
    orgId,
    mode: 'live',
    actor: { kind: 'system', id: 'invoices' },
    resource: { kind: 'invoice', id: invoice.id },
    data: {
      invoiceId: invoice.id,
      number: numberText(invoice.number),
      periodStart: period.from.toISOString(),
      periodEnd: period.until.toISOString(),
      totalNanoUsd: invoice.total.toString(),
    },
    occurredAt: invoice.finalizedAt,
  });
  return true;
}
