import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, parseId, toUuid, type OrgId, type StatementId } from '@millrace/platform/ids';
import { isItemAvailable } from '@millrace/platform/loops';
import { nanoUsd } from '@millrace/platform/money';
import { sql, type Selectable } from 'kysely';
import { z } from 'zod';
import { supplierSince } from '../../identity/index.ts';
import { statementsLoop } from '../loops.ts';
import {
  STATEMENT_DELAY_MS,
  type DueStatement,
  type Statement,
  type StatementLine,
  type StatementSummary,
} from './statements.ts';
import type { SupplierPageRequest } from '../account/suppliers.store.ts';

const amounts = ['gross_nano_usd', 'fee_nano_usd', 'net_nano_usd'] as const;
const summaryColumns = ['id', 'period_start', 'period_end', ...amounts] as const;

type SummaryRow = Pick<Selectable<Tables['supplier_statements']>, (typeof summaryColumns)[number]>;

function toSummary(row: SummaryRow): StatementSummary {
  return {
    id: fromUuid('stm', row.id),
    periodStart: row.period_start,
    periodEnd: row.period_end,
    gross: nanoUsd(row.gross_nano_usd),
    fee: nanoUsd(row.fee_nano_usd),
    net: nanoUsd(row.net_nano_usd),
  };
}

/** Newest first; returns one more than the limit if there are more. */
export async function listStatements(
  reader: Reader,
  orgId: OrgId,
  page: SupplierPageRequest<StatementId>,
): Promise<readonly StatementSummary[]> {
  let query = reader.kysely
    .selectFrom('supplier_statements')
    .select(summaryColumns)
    .where('org_id', '=', toUuid(orgId));
  if (page.after !== null) query = query.where('id', '<', toUuid(page.after));
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  return rows.map(toSummary);
}

const storedLines = z.array(
  z.object({
    machineId: z.string().nullable(),
    gpuSeconds: z.number(),
    grossNanoUsd: z.string(),
    feeNanoUsd: z.string(),
  }),
);

export async function findStatement(db: Reader, orgId: OrgId, id: StatementId): Promise<Statement | null> {
  const row = await db.kysely
    .selectFrom('supplier_statements')
    .select([...summaryColumns, 'lines'])
    .where('org_id', '=', toUuid(orgId))
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  if (row === undefined) return null;
  const lines = storedLines.parse(row.lines).map((line): StatementLine => ({
    machineId: line.machineId === null ? null : parseId('nod', line.machineId),
    gpuSeconds: line.gpuSeconds,
    gross: nanoUsd(BigInt(line.grossNanoUsd)),
    fee: nanoUsd(BigInt(line.feeNanoUsd)),
  }));
  return { ...toSummary(row), lines };
}

/**
 * The first completed month without a statement of each supplier, from the month of its approval on. Suspended
 * suppliers continue to get statements.
 */
export async function listDueStatements(
  reader: Reader,
  now: Date,
  limit: number,
): Promise<readonly DueStatement[]> {
  const { rows } = await sql<{ id: string; org_id: string; month: Date }>`
    select id, org_id, month from (
      select supplier.id, supplier.org_id,
             coalesce((select max(period_end) from supplier_statements made where made.supplier_id = supplier.id),
                      date_trunc('month', least(supplier.approved_at, ${supplierSince('supplier.org_id')}), 'UTC')) as month
        from suppliers supplier) as due
     where date_trunc('month', month + interval '32 days', 'UTC')
             <= ${new Date(now.getTime() - STATEMENT_DELAY_MS)}::timestamptz
       and ${isItemAvailable(statementsLoop, sql<string>`due.id::text`, now)}
     order by month, id limit ${limit}
  `.execute(reader.kysely);
  return rows.map((row) => ({
    supplierId: fromUuid('sup', row.id),
    orgId: fromUuid('org', row.org_id),
    month: row.month,
  }));
}

/** False if the month already has its statement. */
export async function insertStatement(tx: Tx, due: DueStatement, statement: Statement): Promise<boolean> {
  const lines = statement.lines.map((line) => ({
    machineId: line.machineId,
    gpuSeconds: line.gpuSeconds,
    grossNanoUsd: line.gross.toString(),
    feeNanoUsd: line.fee.toString(),
  }));
  const { numAffectedRows } = await sql`
    insert into supplier_statements (id, supplier_id, org_id, period_start, period_end, gross_nano_usd, fee_nano_usd,
                                     net_nano_usd, lines, created_at)
    values (${toUuid(statement.id)}, ${toUuid(due.supplierId)}, ${toUuid(due.orgId)}, ${statement.periodStart},
            ${statement.periodEnd}, ${statement.gross}, ${statement.fee}, ${statement.net},
            ${JSON.stringify(lines)}::jsonb, ${tx.clock.now()})
    on conflict (supplier_id, period_start) do nothing
  `.execute(tx.kysely);
  return numAffectedRows === 1n;
}
