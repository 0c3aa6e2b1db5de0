import type { Db } from '@millrace/platform/db';
import { toUuid, type OrgId, type StatementId } from '@millrace/platform/ids';
import { sql } from 'kysely';
import { testIds } from './builders.ts';
import { insertSupplier } from './insert-suppliers.ts';

let months = 0;

/** An empty statement of an unused month. Makes its organisation a supplier if necessary. */
export async function insertStatement(db: Db, orgId: OrgId): Promise<StatementId> {
  const supplierId = await insertSupplier(db, { orgId });
  const id = testIds.next('stm');
  months += 1;
  await db.transaction({ name: 'insert a statement', isolation: 'read committed' }, ({ kysely }) =>
    sql`
      insert into supplier_statements (id, supplier_id, org_id, period_start, period_end, gross_nano_usd, fee_nano_usd,
                                       net_nano_usd, lines, created_at)
      select ${toUuid(id)}::uuid, ${toUuid(supplierId)}::uuid, ${toUuid(orgId)}::uuid, month.start,
             month.start + interval '1 month', 0, 0, 0, '[]', now()
        from (select '1970-01-01T00:00:00Z'::timestamptz + make_interval(months => ${months}) as start) as month
    `.execute(kysely),
  );
  return id;
}
