import type { Reader } from '@millrace/platform/db';
import { sql } from 'kysely';

interface RegionHealth {
  readonly region: string;
  /** Clusters that were connected at least once. */
  readonly total: number;
  readonly silent: number;
}

/** A bound for the public status page; no installation has as many regions. */
const REGIONS_MAX = 100;

/** The operator's live clusters by region. Suppliers' machines come and go, so they say nothing about a region. */
export async function readRegionHealth(reader: Reader): Promise<readonly RegionHealth[]> {
  const { rows } = await sql<RegionHealth>`
    select cluster.region, count(*)::int as total, (count(*) filter (where cluster.status = 'silent'))::int as silent
      from clusters as cluster
      join providers as provider on provider.id = cluster.provider_id
     where cluster.status in ('connected', 'silent') and cluster.supplier_org_id is null
       and cluster.configured and provider.mode = 'live' and provider.enabled
     group by cluster.region
     order by cluster.region
     limit ${REGIONS_MAX}
  `.execute(reader.kysely);
  return rows;
}
