import type { Reader, Tables, Tx } from '@millrace/platform/db';
import { fromUuid, toUuid, type ClusterId } from '@millrace/platform/ids';
import { sql, type Selectable } from 'kysely';
import type {
  ClusterConnection,
  ClusterRecord,
  ClusterSettings,
  ClusterStatus,
  FleetPageRequest,
  ProviderRecord,
  ProviderRegion,
} from './clusters.ts';

/** SQL that reads providers and clusters and maintains their open flags. */

export function clustersQuery(reader: Reader) {
  return reader.kysely
    .selectFrom('clusters as cluster')
    .innerJoin('providers as provider', 'provider.id', 'cluster.provider_id')
    .selectAll('cluster')
    .select('provider.mode')
    .select((select) =>
      select
        .selectFrom('nodes as node')
        .select((count) => count.fn.countAll<bigint>().as('nodes'))
        .whereRef('node.cluster_id', '=', 'cluster.id')
        // A literal, because PostgreSQL does not use the partial index with a parameter.
        .where('node.status', '<>', sql.lit('node_removed'))
        .as('node_count'),
    );
}

type ClusterRow = Awaited<ReturnType<ReturnType<typeof clustersQuery>['execute']>>[number];

export function toCluster(row: ClusterRow): ClusterRecord {
  return {
    id: fromUuid('cls', row.id),
    name: row.name,
    providerId: row.provider_id,
    region: row.region,
    mode: row.mode,
    driver: row.driver,
    endpoint: row.endpoint,
    credentialRef: row.credential_ref,
    settings: row.settings as ClusterSettings,
    offer: row.offer,
    connectionType: row.connection_type,
    supplierOrgId: row.supplier_org_id === null ? null : fromUuid('org', row.supplier_org_id),
    ports: { first: row.port_first, last: row.port_last },
    origin: row.origin,
    configured: row.configured,
    status: row.status,
    statusReason: row.status_reason,
    statusSince: row.status_since,
    engine: row.engine,
    lastSeenAt: row.last_seen_at,
    watchingSince: row.watching_since,
    heartbeatAt: row.beat_at,
    nodeCount: Number(row.node_count ?? 0n),
    createdAt: row.created_at,
    removedAt: row.removed_at,
  };
}

/** Includes removed clusters. */
export async function findCluster(reader: Reader, id: ClusterId): Promise<ClusterRecord | null> {
  const row = await clustersQuery(reader).where('cluster.id', '=', toUuid(id)).executeTakeFirst();
  return row === undefined ? null : toCluster(row);
}

/** Includes removed clusters, whose engine may still have machines. */
export async function findClusterConnection(db: Reader, id: ClusterId): Promise<ClusterConnection | null> {
  const row = await db.kysely
    .selectFrom('clusters')
    .select(['name', 'driver', 'endpoint', 'credential_ref', 'settings'])
    .where('id', '=', toUuid(id))
    .executeTakeFirst();
  if (row === undefined) return null;
  const { name, driver, endpoint, credential_ref: credentialRef } = row;
  // The table's check constraint requires an object.
  return { id, name, driver, endpoint, credentialRef, settings: row.settings as ClusterSettings };
}

/** Sorted by id, one row more than the limit. Without removed clusters unless the filter requests them. */
export async function listClusters(
  reader: Reader,
  filter: { readonly status?: ClusterStatus | undefined; readonly providerId?: string | undefined },
  page: FleetPageRequest<ClusterId>,
): Promise<readonly ClusterRecord[]> {
  let query = clustersQuery(reader)
    .orderBy('cluster.id')
    .limit(page.limit + 1);
  query =
    filter.status === undefined
      ? query.where('cluster.status', '<>', 'removed')
      : query.where('cluster.status', '=', filter.status);
  if (filter.providerId !== undefined) query = query.where('cluster.provider_id', '=', filter.providerId);
  if (page.after !== null) query = query.where('cluster.id', '>', toUuid(page.after));
  const rows = await query.execute();
  return rows.map(toCluster);
}

/** Endpoints of all current clusters; suppliers' clusters can be left out because they may be many. */
export async function listEngineEndpoints(
  reader: Reader,
  options: { readonly withoutSupplied?: boolean } = {},
): Promise<readonly Pick<ClusterRecord, 'name' | 'driver' | 'endpoint'>[]> {
  let query = reader.kysely
    .selectFrom('clusters')
    .select(['name', 'driver', 'endpoint'])
    .where('status', '<>', 'removed')
    .orderBy('id');
  if (options.withoutSupplied === true) query = query.where('origin', '<>', 'supplier');
  return query.execute();
}

/** Locks a cluster against its observer and all other writers. Must precede any lock of its nodes. */
export async function lockCluster(tx: Tx, id: ClusterId): Promise<ClusterRecord | null> {
  await sql`select 1 from clusters where id = ${toUuid(id)} for no key update`.execute(tx.kysely);
  return findCluster(tx, id);
}

/** Sorted by id, with one row more than the limit. Includes providers that the configuration no longer names. */
export async function listProviders(
  reader: Reader,
  page: FleetPageRequest<string>,
): Promise<readonly ProviderRecord[]> {
  let query = reader.kysely
    .selectFrom('providers')
    .selectAll()
    .orderBy('id')
    .limit(page.limit + 1);
  if (page.after !== null) query = query.where('id', '>', page.after);
  const rows = await query.execute();
  const ids = rows.map((row) => row.id);
  const regions = await readRegions(reader, ids);
  return rows.map((row) => toProvider(row, regions.get(row.id) ?? []));
}

function toProvider(
  row: Selectable<Tables['providers']>,
  regions: readonly ProviderRegion[],
): ProviderRecord {
  const { id, variant, driver, mode, enabled, configured } = row;
  return { id, variant, driver, mode, enabled, configured, regions };
}

export async function findProvider(reader: Reader, id: string): Promise<ProviderRecord | null> {
  const row = await reader.kysely.selectFrom('providers').selectAll().where('id', '=', id).executeTakeFirst();
  if (row === undefined) return null;
  const regions = await readRegions(reader, [id]);
  return toProvider(row, regions.get(id) ?? []);
}

/** Locks a provider against concurrent changes of its switches. Must precede any lock of a node. */
export async function lockProvider(tx: Tx, id: string): Promise<ProviderRecord | null> {
  await sql`select 1 from providers where id = ${id} for no key update`.execute(tx.kysely);
  return findProvider(tx, id);
}

async function readRegions(reader: Reader, ids: readonly string[]): Promise<Map<string, ProviderRegion[]>> {
  const regions = new Map<string, ProviderRegion[]>(ids.map((id) => [id, []]));
  if (ids.length === 0) return regions;
  const rows = await reader.kysely
    .selectFrom('provider_regions')
    .selectAll()
    .where('provider_id', 'in', ids)
    .orderBy('provider_id')
    .orderBy('region')
    .execute();
  for (const { provider_id: id, region, enabled, configured, custom_ports: customPorts } of rows) {
    regions.get(id)?.push({ region, enabled, configured, customPorts });
  }
  return regions;
}

/** Selects the nodes to refresh; all if empty. */
export interface OpenFlagsFilter {
  readonly providerId?: string;
  readonly clusterId?: ClusterId;
}

const OPEN_FLAGS_LOCK = 7_102_500_015;

/** Serializes changes of the inputs of `open`, so that the second of two concurrent changes sees both. */
export async function lockOpenFlags(tx: Tx): Promise<void> {
  await sql`select pg_advisory_xact_lock(${OPEN_FLAGS_LOCK})`.execute(tx.kysely);
}

/**
 * Recomputes `node_capacity.open`: provider and region enabled and configured, cluster connected and configured. Call
 * it in the transaction that changes one of them, after the change and before any lock of a node.
 */
export async function refreshOpenFlags(tx: Tx, filter: OpenFlagsFilter = {}): Promise<void> {
  await lockOpenFlags(tx);
  const wanted = sql`
    select capacity.node_id,
           provider.enabled and provider.configured and region.enabled and region.configured
             and cluster.status = 'connected' and cluster.configured as open
      from node_capacity as capacity
      join clusters as cluster on cluster.id = capacity.cluster_id
      join providers as provider on provider.id = capacity.provider_id
      join provider_regions as region
        on region.provider_id = capacity.provider_id and region.region = capacity.region
     where (${filter.providerId ?? null}::text is null or capacity.provider_id = ${filter.providerId ?? null})
       and (${filter.clusterId === undefined ? null : toUuid(filter.clusterId)}::uuid is null
            or capacity.cluster_id = ${filter.clusterId === undefined ? null : toUuid(filter.clusterId)})`;
  // A separate statement, because the plan of the update may lock rows in any order.
  await sql`
    select 1 from node_capacity as capacity
     where capacity.node_id in (
       select wanted.node_id from (${wanted}) as wanted
         join node_capacity as now on now.node_id = wanted.node_id and now.open <> wanted.open)
     order by capacity.node_id for no key update
  `.execute(tx.kysely);
  await sql`
    update node_capacity as capacity set open = wanted.open
      from (${wanted}) as wanted
     where capacity.node_id = wanted.node_id and capacity.open <> wanted.open
  `.execute(tx.kysely);
}

/** The caller has checked that the provider has these regions. */
export async function setProviderEnabled(
  tx: Tx,
  id: string,
  change: {
    readonly enabled?: boolean;
    readonly regions?: readonly { readonly region: string; readonly enabled: boolean }[];
  },
): Promise<void> {
  const now = tx.clock.now();
  await tx.kysely
    .updateTable('providers')
    .set({ updated_at: now, ...(change.enabled === undefined ? {} : { enabled: change.enabled }) })
    .where('id', '=', id)
    .execute();
  for (const { region, enabled } of change.regions ?? []) {
    await tx.kysely
      .updateTable('provider_regions')
      .set({ enabled, updated_at: now })
      .where('provider_id', '=', id)
      .where('region', '=', region)
      .execute();
  }
  await refreshOpenFlags(tx, { providerId: id });
}

export async function countClusters(reader: Reader): Promise<number> {
  const { clusters } = await reader.kysely
    .selectFrom('clusters')
    .select((count) => count.fn.countAll<bigint>().as('clusters'))
    .where('status', '<>', 'removed')
    .executeTakeFirstOrThrow();
  return Number(clusters);
}
