import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type InvoiceId, type OrgId } from '@millrace/platform/ids';
import { nanoUsd } from '@millrace/platform/money';
import { sql, type Selectable } from 'kysely';
import { z } from 'zod';
import { organisationById, organisationsAfter } from '../identity/index.ts';
import { hadCostsIn } from '../ledger/index.ts';
import type { Invoice, InvoiceLine, InvoiceSummary } from './invoice.ts';

/** All SQL about invoices and the walk that makes them. */

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

/** Newest first; one more than the limit, if there is one. */
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

/** The numbers of an organisation's invoices, by the beginning of their month in milliseconds. */
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

/** The name of an organisation, and that it still has no invoice of the month; null when it has. */
export async function findUninvoiced(tx: Tx, orgId: OrgId, month: Date): Promise<string | null> {
  const { rows } = await sql<{ name: string }>`
    select organisation.name from ${organisationById(orgId)} as organisation
     where not exists (select from invoices where invoices.org_id = organisation.id and invoices.period_start = ${month})
  `.execute(tx.kysely);
  return rows[0]?.name ?? null;
}

/** The next number. Whoever has it makes the others wait until its transaction ends, and gives it back if that fails. */
export async function nextInvoiceNumber(tx: Tx): Promise<bigint> {
  const { last_number } = await tx.kysely
    .updateTable('invoice_counter')
    .set({ last_number: sql<bigint>`last_number + 1` })
    .returning('last_number')
    .executeTakeFirstOrThrow();
  return last_number;
}

/** The last number that was given. */
export const lastInvoiceNumber = sql<bigint>`(select last_number from invoice_counter)`;

/** Records the numbers that follow as a gap, up to this one, so that none of them is given again. */
export async function skipInvoiceNumbers(tx: Tx, through: number): Promise<void> {
  const last = await lockInvoiceCounter(tx);
  if (through <= last) return;
  await sql`
    insert into invoice_gaps (first_number, last_number, noted_at) values (${last + 1}, ${through}, clock_timestamp())
  `.execute(tx.kysely);
  await sql`update invoice_counter set last_number = ${through}`.execute(tx.kysely);
}

/** The last number. Waits for whoever makes an invoice now, so that what is read afterwards has it. */
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

/** How far workers have come with the invoices of a month. */
export interface InvoiceRun {
  readonly month: Date;
  readonly after: OrgId | null;
}

/** The newest month that a walk was begun for; null before the first. */
export async function readNewestRunMonth(reader: Reader): Promise<Date | null> {
  const row = await reader.kysely
    .selectFrom('invoice_months')
    .select('month')
    .orderBy('month', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.month ?? null;
}

/**
 * The walks that are under way, the oldest month first; or those of which one round has ended without some invoice, and
 * the next has not begun.
 */
export async function listInvoiceRuns(
  reader: Reader,
  state: 'under way' | 'to begin anew',
): Promise<readonly InvoiceRun[]> {
  const hasEnded = sql<boolean>`(has_failed and after_org is null)`;
  const rows = await reader.kysely
    .selectFrom('invoice_months')
    .select(['month', 'after_org'])
    .where('finished_at', 'is', null)
    .where(hasEnded, '=', state === 'to begin anew')
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
  /** Something may have been charged or given back in the month, and there is no invoice of it yet. */
  readonly isDue: boolean;
}

/** The next organisations of a walk. Each is one look at an index of the ledger, however much it has in it. */
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
 * Moves a walk on, unless another worker has. At its end it is finished, and true is answered, or it begins anew where an
 * invoice could not be made: then `has_failed` stays until the next round has begun.
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
