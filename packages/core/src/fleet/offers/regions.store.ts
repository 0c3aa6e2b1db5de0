import { reportsGpuUse } from '@millrace/compute';
import type { Reader } from '@millrace/platform/db';
import type { PlacementRequirements } from '../placement/placement.ts';
import type { ConnectionType, OfferKind } from '../inventory/nodes.ts';

/** SQL about the providers and networks of a region. */

export interface RegionProvider {
  readonly providerId: string;
  /** Whether the provider accepts new rentals in the region. */
  readonly open: boolean;
  readonly customPorts: boolean;
  readonly gpuUse: boolean;
}

/** Providers with clusters for this offer in the region, open or not. */
export async function listRegionProviders(
  reader: Reader,
  where: { readonly mode: PlacementRequirements['mode']; readonly offer: OfferKind; readonly region: string },
): Promise<readonly RegionProvider[]> {
  const rows = await reader.kysely
    .selectFrom('provider_regions as region')
    .innerJoin('providers as provider', 'provider.id', 'region.provider_id')
    .select(['region.provider_id', 'region.enabled', 'region.configured', 'region.custom_ports'])
    .select(['provider.enabled as provider_enabled', 'provider.configured as provider_configured'])
    .select('provider.driver')
    .where('region.region', '=', where.region)
    .where('provider.mode', '=', where.mode)
    .where((has) =>
      has.exists(
        has
          .selectFrom('clusters as cluster')
          .select('cluster.id')
          .whereRef('cluster.provider_id', '=', 'region.provider_id')
          .whereRef('cluster.region', '=', 'region.region')
          .where('cluster.offer', '=', where.offer)
          .where('cluster.status', '<>', 'removed'),
      ),
    )
    .orderBy('region.provider_id')
    .execute();
  return rows.map((row) => ({
    providerId: row.provider_id,
    open: row.enabled && row.configured && row.provider_enabled && row.provider_configured,
    customPorts: row.custom_ports,
    gpuUse: reportsGpuUse[row.driver],
  }));
}

export async function reportsGpuUtilisation(reader: Reader, providerId: string): Promise<boolean> {
  const row = await reader.kysely
    .selectFrom('providers')
    .select('driver')
    .where('id', '=', providerId)
    .executeTakeFirst();
  return row !== undefined && reportsGpuUse[row.driver];
}

/** Networks of nodes that could fit the request when idle. Reads all nodes of the region: call it rarely. */
export async function listConnectionTypes(
  reader: Reader,
  need: Pick<PlacementRequirements, 'mode' | 'offer' | 'region' | 'gpuType' | 'gpusPerNode'>,
): Promise<readonly ConnectionType[]> {
  const rows = await reader.kysely
    .selectFrom('node_capacity')
    .select('connection_type')
    .distinct()
    .where('mode', '=', need.mode)
    .where('offer', '=', need.offer)
    .where('region', '=', need.region)
    .where('gpu_type', '=', need.gpuType)
    .where('gpus_total', '>=', need.gpusPerNode)
    .execute();
  return rows.map((row) => row.connection_type);
}
