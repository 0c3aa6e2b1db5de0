import type { Reader } from '@millrace/platform/db';
import { sql } from 'kysely';

/** An open maintenance window without its summary, which only affected tenants get. */
export interface PlannedMaintenance {
  readonly regions: readonly string[];
  readonly startsAt: Date;
  readonly endsAt: Date;
}

/** A bound for the public status page. */
const WINDOWS_MAX = 20;

/** Open windows of the operator's live machines, the next one first. */
export async function listPlannedMaintenance(
  reader: Reader,
  now: Date,
): Promise<readonly PlannedMaintenance[]> {
  const { rows } = await sql<{ regions: string[]; starts_at: Date; ends_at: Date }>`
    select array_agg(distinct cluster.region) as regions, windows.starts_at, windows.ends_at
      from maintenance_windows as windows
      join maintenance_nodes as part on part.window_id = windows.id
      join nodes as node on node.id = part.node_id
      join clusters as cluster on cluster.id = node.cluster_id
      join providers as provider on provider.id = cluster.provider_id
     where windows.status in ('announced', 'in_progress') and windows.ends_at > ${now}
       and cluster.supplier_org_id is null and provider.mode = 'live'
     group by windows.id
     order by windows.starts_at, windows.id
     limit ${WINDOWS_MAX}
  `.execute(reader.kysely);
  return rows.map((row) => ({ regions: row.regions, startsAt: row.starts_at, endsAt: row.ends_at }));
}
