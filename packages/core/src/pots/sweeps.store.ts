import type { Reader } from '@millrace/platform/db';
import { fromUuid, type LeaseId, type OrgId } from '@millrace/platform/ids';
import { sql } from 'kysely';

export interface LeaseRef {
  readonly orgId: OrgId;
  readonly id: LeaseId;
}

const toRef = (row: { org_id: string; id: string }): LeaseRef => ({
  orgId: fromUuid('org', row.org_id),
  id: fromUuid('lse', row.id),
});

/** Open leases that nobody has prolonged. */
export async function listExpired(
  reader: Reader,
  cell: number,
  now: Date,
  limit: number,
): Promise<LeaseRef[]> {
  const { rows } = await sql<{ org_id: string; id: string }>`
    select org_id, id from pot_leases
     where cell = ${cell} and state = 'open' and expires_at <= ${now} order by expires_at limit ${limit}
  `.execute(reader.kysely);
  return rows.map(toRef);
}

/** Closing leases of which everyone who was told has ended and been passed by the sink. */
export async function listClosable(reader: Reader, cell: number, limit: number): Promise<LeaseRef[]> {
  const { rows } = await sql<{ org_id: string; id: string }>`
    select lease.org_id, lease.id from pot_leases lease
     where lease.cell = ${cell} and lease.state = 'closing'
       and not exists (
         select from pot_lease_gateways told
           left join usage_watermarks mark on mark.stream = told.ended_stream
          where told.lease_id = lease.id and coalesce(mark.passed_seq >= told.ended_at_seq, false) is false)
     order by lease.closing_at limit ${limit}
  `.execute(reader.kysely);
  return rows.map(toRef);
}
