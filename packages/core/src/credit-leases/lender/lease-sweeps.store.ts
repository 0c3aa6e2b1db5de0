import type { Reader } from '@millrace/platform/db';
import { fromUuid, toUuid, type LeaseId, type OrgId } from '@millrace/platform/ids';
import { isItemAvailable } from '@millrace/platform/loops';
import { sql, type RawBuilder } from 'kysely';
import { startClosingLeases, finishClosingLeases } from './loops.ts';
import { hasNoDeferredUsage } from './deferred-usage.store.ts';

export interface LeaseRef {
  readonly orgId: OrgId;
  readonly id: LeaseId;
}

async function listRefs(db: Reader, query: RawBuilder<{ org_id: string; id: string }>): Promise<LeaseRef[]> {
  const { rows } = await query.execute(db.kysely);
  return rows.map((row) => ({ orgId: fromUuid('org', row.org_id), id: fromUuid('lse', row.id) }));
}

/** Open leases that no gateway has renewed. */
export async function listExpiredLeases(
  db: Reader,
  cell: number,
  now: Date,
  limit: number,
): Promise<LeaseRef[]> {
  return listRefs(
    db,
    sql`
    select org_id, id from pot_leases
     where cell = ${cell} and state = 'open' and expires_at <= ${now}
       and ${isItemAvailable(startClosingLeases, sql<string>`pot_leases.id::text`, now)} order by expires_at limit ${limit}
  `,
  );
}

/** Open leases that every holder has returned, so that no gateway can spend from them. */
export async function listReturnedLeases(
  db: Reader,
  cell: number,
  now: Date,
  limit: number,
): Promise<LeaseRef[]> {
  return listRefs(
    db,
    sql`
    select lease.org_id, lease.id from pot_leases lease
     where lease.cell = ${cell} and lease.state = 'open' and lease.expires_at > ${now}
       and not exists (
         select from pot_lease_gateways told where told.lease_id = lease.id and told.ended_at_seq is null)
       and exists (select from pot_lease_gateways told where told.lease_id = lease.id)
       and ${isItemAvailable(startClosingLeases, sql<string>`lease.id::text`, now)}
     order by lease.expires_at limit ${limit}
  `,
  );
}

export async function listOpenLeases(db: Reader, cell: number): Promise<LeaseRef[]> {
  return listRefs(
    db,
    sql`
    select org_id, id from pot_leases where cell = ${cell} and state = 'open' order by id
  `,
  );
}

/** The granted amount in each epoch of a series. */
export async function listGrantsByEpoch(
  db: Reader,
  series: { readonly orgId: OrgId; readonly mode: string; readonly cell: number },
): Promise<ReadonlyMap<string, { readonly id: LeaseId; readonly granted: bigint }>> {
  const { rows } = await sql<{ id: string; epoch: bigint; granted_nano_usd: bigint }>`
    select id, epoch, granted_nano_usd from pot_leases
     where org_id = ${toUuid(series.orgId)} and mode = ${series.mode} and cell = ${series.cell}
  `.execute(db.kysely);
  return new Map(
    rows.map((row) => [row.epoch.toString(), { id: fromUuid('lse', row.id), granted: row.granted_nano_usd }]),
  );
}

/** Closing leases whose holders have all ended before the watermark, and whose usage is all charged. */
export async function listClosableLeases(db: Reader, cell: number, limit: number): Promise<LeaseRef[]> {
  const now = db.clock.now();
  return listRefs(
    db,
    sql`
    select lease.org_id, lease.id from pot_leases lease
     where lease.cell = ${cell} and lease.state = 'closing'
       and not exists (
         select from pot_lease_gateways told
           left join usage_watermarks mark on mark.stream = told.ended_stream
          where told.lease_id = lease.id and coalesce(mark.passed_seq >= told.ended_at_seq, false) is false)
       and ${hasNoDeferredUsage}
       and ${isItemAvailable(finishClosingLeases, sql<string>`lease.id::text`, now)}
     order by lease.closing_at limit ${limit}
  `,
  );
}
