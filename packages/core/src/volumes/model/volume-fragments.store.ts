import { toUuid, type OrgId } from '@millrace/platform/ids';
import { sql, type RawBuilder } from 'kysely';

/** Names and regions of volumes for display. Columns: kind, id (the wire id as text), name, region. */
export function volumeLabels(orgId: OrgId, wireIds: readonly number[]): RawBuilder<unknown> {
  return sql`(
    select 'volume' as kind, wire_id::text as id, coalesce(name, label) as name, region
      from volumes
     where org_id = ${toUuid(orgId)} and wire_id = any(${wireIds}::bigint[]))`;
}
