import type { Db } from '@millrace/platform/db';
import { toUuid, type AuditReportId, type InvoiceId, type OrgId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { testIds } from './builders.ts';

let months = 0;

/** An invoice of one dollar with the next number, for a past month that no other inserted invoice uses. */
export async function insertInvoice(db: Db, orgId: OrgId): Promise<InvoiceId> {
  const id = testIds.next('ivc');
  months += 1;
  const lines = [
    { description: 'Planted', cause: null, quantity: '1', unit: 'items', amountNanoUsd: '1000000000' },
  ];
  await db.transaction({ name: 'insert an invoice', isolation: 'read committed' }, ({ kysely }) =>
    sql`
      with counted as (update invoice_counter set last_number = last_number + 1 returning last_number)
      select last_number from counted`
      .execute(kysely)
      .then(() =>
        sql`
        insert into invoices (id, org_id, mode, number, period_start, period_end, total_nano_usd, lines, billed_to, issuer,
                              finalized_at)
        select ${toUuid(id)}::uuid, ${toUuid(orgId)}::uuid, 'live', counter.last_number, month.start,
               (month.start at time zone 'UTC' + interval '1 month') at time zone 'UTC', 1000000000,
               ${JSON.stringify(lines)}::jsonb, 'Planted', 'Planted', now()
          from invoice_counter counter,
               (select ('1970-01-01'::timestamp + make_interval(months => ${months})) at time zone 'UTC' as start) as month
      `.execute(kysely),
      ),
  );
  return id;
}

/** An audit report with one finding. */
export async function insertAuditReport(db: Db, orgId: OrgId): Promise<AuditReportId> {
  const id = testIds.next('rpt');
  const finding = {
    check: 'invoice_adds_up',
    severity: 'error',
    subject: { kind: 'invoice', id: testIds.next('ivc') },
    orgId,
    expected: '1',
    actual: '2',
    sentence: 'It says 2 nano-USD; the ledger has 1.',
  };
  await db.transaction({ name: 'insert an audit', isolation: 'read committed' }, ({ kysely }) =>
    sql`
      insert into audit_runs (id, kind, snapshot_at, duration_ms, is_clean, errors, notices, looked_at, findings)
      values (${toUuid(id)}, 'full', now(), 12, false, 1, 0, '{"invoice_adds_up": 3}', ${JSON.stringify([finding])})
    `.execute(kysely),
  );
  return id;
}
