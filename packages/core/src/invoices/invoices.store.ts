import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type InvoiceId, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { sql, type Selectable } from 'kysely';
import { z } from 'zod';
import { organisationById, organisationsAfter } from '../identity/index.ts';
import { hadCostsIn } from '../ledger/index.ts';
import type { Invoice, InvoiceLine, InvoiceSummary } from './invoice.ts';

/** All SQL for invoices and invoice runs. */

type InvoiceRow = Selectable<Tables['invoices']>;

function toSummary(row: Omit<InvoiceRow, 'mode' | 'lines' | 'issuer' | 'billed_to'>): InvoiceSummary {
  return {
    id: fromUuid('ivc', row.id),
    orgId: fromUuid('org', row.org_id),
    number: row.number,
    periodStart: row.period_start,
    periodEnd: row.period_end,
    total: nanoUsd(row.total_nano_usd),
    finalizedAt: row.finalized_at,
  };
}

const periodColumns = ['number', 'period_start', 'period_end'] as const;
const summaryColumns = ['id', 'org_id', ...periodColumns, 'total_nano_usd', 'finalized_at'] as const;

/** Newest first, up to one more than the limit. */
export async function listInvoices(
  reader: Reader,
  orgId: OrgId,
  page: { readonly limit: number; readonly after: InvoiceId | null },
): Promise<readonly InvoiceSummary[]> {
  let query = reader.kysely.selectFrom('invoices').select(summaryColumns).where('org_id', '=', toUuid(orgId));
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map(toSummary);
}

/** Invoice numbers by the start of their month in milliseconds. */
export async function readInvoiceNumbers(
  reader: Reader,
  orgId: OrgId,
  { from, until }: { readonly from: Date; readonly until: Date },
): Promise<ReadonlyMap<number, bigint>> {
  const rows = await reader.kysely
    .selectFrom('invoices')
    .select(['number', 'period_start'])
    .where('org_id', '=', toUuid(orgId))
    .where('period_end', '>', from)
    .where('period_start', '<', until)
    .execute();
  return new Map(rows.map((row) => [row.period_start.getTime(), row.number]));
}

const storedLines = z.array(
  z.object({
    description: z.string(),
    cause: z.object({ kind: z.string(), id: z.string() }).nullable(),
    quantity: z.string(),
    unit: z.string(),
    amountNanoUsd: z.string(),
  }),
);

export async function findInvoice(reader: Reader, orgId: OrgId, id: InvoiceId): Promise<Invoice | null> {
  const row = await reader.kysely
    .selectFrom('invoices')
    .select([...summaryColumns, 'lines', 'issuer', 'billed_to'])
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  if (row === undefined) return null;
  const lines = storedLines
    .parse(row.lines)
    .map(({ amountNanoUsd, ...line }): InvoiceLine => ({ ...line, amount: nanoUsd(BigInt(amountNanoUsd)) }));
  return { ...toSummary(row), issuer: row.issuer, billedTo: row.billed_to, lines };
}

/** The organisation's name if it has no invoice for the month; otherwise null. */
export async function findUninvoiced(tx: Tx, orgId: OrgId, month: Date): Promise<string | null> {
  const { rows } = await sql<{ name: string }>`
    select organisation.name from ${organisationById(orgId)} as organisation
     where not exists (select from invoices where invoices.org_id = organisation.id and invoices.period_start = ${month})
  `.execute(tx.kysely);
  return rows[0]?.name ?? null;
}

/** Locks the counter until the transaction ends; a rollback releases the number. */
export async function nextInvoiceNumber(tx: Tx): Promise<bigint> {
  const { last_number } = await tx.kysely
    .updateTable('invoice_counter')
    .set({ last_number: sql<bigint>`last_number + 1` })
    .returning('last_number')
    .executeTakeFirstOrThrow();
  return last_number;
}

export const lastInvoiceNumber = sql<bigint>`(select last_number from invoice_counter)`;

/** Records the following numbers up to `through` as a gap, so that they are never used. */
export async function skipInvoiceNumbers(tx: Tx, through: number): Promise<void> {
  const last = await lockInvoiceCounter(tx);
  if (through <= last) return;
  await sql`
    insert into invoice_gaps (first_number, last_number, noted_at) values (${last + 1}, ${through}, clock_timestamp())
  `.execute(tx.kysely);
  await sql`update invoice_counter set last_number = ${through}`.execute(tx.kysely);
}

/** Waits for a concurrent invoice, so that later reads include it. Returns the last number. */
export async function lockInvoiceCounter(tx: Tx): Promise<number> {
  const [row] = await tx.kysely.selectFrom('invoice_counter').select('last_number').forUpdate().execute();
  return Number(row?.last_number ?? 0n);
}

export async function insertInvoice(tx: Tx, invoice: Invoice): Promise<void> {
  const lines = invoice.lines.map(({ amount, ...line }) => ({ ...line, amountNanoUsd: amount.toString() }));
  await tx.kysely
    .insertInto('invoices')
    .values({
      id: toUuid(invoice.id),
      org_id: toUuid(invoice.orgId),
      mode: 'live',
      number: invoice.number,
      period_start: invoice.periodStart,
      period_end: invoice.periodEnd,
      total_nano_usd: invoice.total,
      lines: JSON.stringify(lines),
      billed_to: invoice.billedTo,
      issuer: invoice.issuer,
      finalized_at: invoice.finalizedAt,
    })
    .execute();
}

/** The position of an invoice run. */
export interface InvoiceRun {
  readonly month: Date;
  readonly after: OrgId | null;
}

export async function readNewestRunMonth(reader: Reader): Promise<Date | null> {
  const row = await reader.kysely
    .selectFrom('invoice_months')
    .select('month')
    .orderBy('month', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.month ?? null;
}

/** Runs in progress, oldest month first, or runs whose last round had failures and has not restarted. */
export async function listInvoiceRuns(
  reader: Reader,
  state: 'in progress' | 'to restart',
): Promise<readonly InvoiceRun[]> {
  const hasEnded = sql<boolean>`(has_failed and after_org is null)`;
  const rows = await reader.kysely
    .selectFrom('invoice_months')
    .select(['month', 'after_org'])
    .where('finished_at', 'is', null)
    .where(hasEnded, '=', state === 'to restart')
    .orderBy('month')
    .execute();
  return rows.map(({ month, after_org: after }) => ({
    month,
    after: after === null ? null : fromUuid('org', after),
  }));
}

export async function startInvoiceRun(tx: Tx, month: Date): Promise<void> {
  await tx.kysely
    .insertInto('invoice_months')
    .values({ month })
    .onConflict((on) => on.column('month').doNothing())
    .execute();
}

export interface Candidate {
  readonly orgId: OrgId;
  /** The month may have costs, and has no invoice yet. */
  readonly isDue: boolean;
}

/** Checks each organisation with one index look-up, whatever the size of its ledger. */
export async function listCandidates(
  reader: Reader,
  { month, after }: InvoiceRun,
  { until, limit }: { readonly until: Date; readonly limit: number },
): Promise<readonly Candidate[]> {
  const { rows } = await sql<{ id: string; is_due: boolean }>`
    select o.id,
           not exists (select from invoices i where i.org_id = o.id and i.period_start = ${month})
           and ${hadCostsIn('o.id', { from: month, until })} as is_due
      from ${organisationsAfter(after, limit)} as o
     order by o.id
  `.execute(reader.kysely);
  return rows.map((row) => ({ orgId: fromUuid('org', row.id), isDue: row.is_due }));
}

/**
 * Advances a run unless another worker has done so. At its end the run is finished (returns true), or restarts if an
 * invoice failed; `has_failed` stays until the next round starts.
 */
export async function advanceRunPosition(
  tx: Tx,
  { month, after }: InvoiceRun,
  step: { readonly to: OrgId | null; readonly hasFailed: boolean; readonly isLast: boolean },
): Promise<boolean> {
  const to = step.to === null ? null : toUuid(step.to);
  const from = after === null ? null : toUuid(after);
  const hasFailed = sql`(${step.hasFailed} or has_failed and after_org is not null)`;
  const { rows } = await sql<{ is_finished: boolean }>`
    update invoice_months
       set after_org = case when ${step.isLast} and ${hasFailed} then null else ${to}::uuid end,
           has_failed = ${hasFailed},
           finished_at = case when ${step.isLast} and not ${hasFailed} then ${tx.clock.now()}::timestamptz end
     where month = ${month} and finished_at is null and after_org is not distinct from ${from}::uuid
    returning finished_at is not null as is_finished
  `.execute(tx.kysely);
  return rows[0]?.is_finished ?? false;
}
