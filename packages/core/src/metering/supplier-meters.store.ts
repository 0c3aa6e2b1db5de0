import type { Reader } from '@millrace/platform/db';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { nanoUsd, type NanoUsd } from '@millrace/platform/money';
import { sql, type RawBuilder } from 'kysely';

/** All SQL for meters with a supplier. */

/**
 * Columns: org_id, cause_kind, cause_id. The last posting is made when the end is recorded, which may be after the end.
 */
export function suppliedResources(
  supplier: OrgId,
  { from, until }: { readonly from: Date; readonly until: Date },
): RawBuilder<unknown> {
  return sql`
      select distinct m.org_id, m.cause_kind, m.cause_id
        from meters m
        join meter_transitions last on last.meter_id = m.id and last.seq = m.transitions
       where m.supplier_org_id = ${toUuid(supplier)} and m.mode = 'live' and m.opened_at < ${until}
         and (m.state <> 'closed' or last.recorded_at >= ${from}::timestamptz - interval '1 hour')`;
}

/** The unposted earnings of running meters. A pause posts everything, so paused meters are left out. */
export async function sumSupplierAccrual(reader: Reader, orgId: OrgId, at: Date): Promise<NanoUsd> {
  const { rows } = await sql<{ accrued: string }>`
    select coalesce(sum(greatest(0,
             div(supplier_rate_nano_usd_per_hour
                   * (elapsed_before_ms + floor(greatest(0, extract(epoch from
                        least(${at}::timestamptz, term_ends_at) - running_since) * 1000))), 3600000)
             - supplier_posted_nano_usd)), 0)::text as accrued
      from meters
     where supplier_org_id = ${toUuid(orgId)} and mode = 'live' and state = 'open'
  `.execute(reader.kysely);
  return nanoUsd(BigInt(rows[0]?.accrued ?? 0));
}
