import type { ClusterSetting, ProviderSetting } from '@millrace/platform/config';
import type { Db, Tx } from '@millrace/platform/db';
import { refreshOpenFlags } from '../inventory/clusters.store.ts';
import type { ClusterRecord } from '../inventory/clusters.ts';
import { isSameEngine, problemWithEndpoint } from '../inventory/engine-endpoints.ts';
import {
  insertCluster,
  lockConfiguration,
  lockConfiguredClusters,
  markUnconfigured,
  updateCluster,
  upsertProvider,
  upsertRegions,
} from './fleet-config.store.ts';

/** A configured cluster that was not applied, and why. */
export interface RefusedCluster {
  readonly name: string;
  readonly problem: string;
}

/**
 * Applies the configuration in one transaction. Every worker does this when it starts; a concurrent second one finds
 * nothing to do. Operators' switches stay unchanged. Entries that the configuration no longer names stay stored and
 * observed, and sell nothing.
 */
export async function applyFleetConfig(
  db: Db,
  providers: readonly ProviderSetting[],
): Promise<readonly RefusedCluster[]> {
  return db.transaction({ name: 'apply fleet configuration', isolation: 'read committed' }, async (tx) => {
    await lockConfiguration(tx);
    const refused: RefusedCluster[] = [];
    const accepted: ProviderSetting[] = [];
    for (const provider of providers) {
      if (await upsertProvider(tx, provider)) {
        await upsertRegions(tx, provider.id, provider.regions);
        accepted.push(provider);
      } else refused.push(...provider.clusters.map(({ name }) => ({ name, problem: modeProblem(provider) })));
    }
    const known = new Map((await lockConfiguredClusters(tx)).map((cluster) => [cluster.name, cluster]));
    const named = new Set(accepted.flatMap(({ clusters }) => clusters.map(({ name }) => name)));
    const reached: NamedEndpoint[] = [...known.values()].filter(({ name }) => !named.has(name));
    for (const provider of accepted) {
      for (const setting of provider.clusters) {
        const { name, endpoint } = setting;
        const reach = { name, driver: provider.driver, endpoint };
        const problem =
          duplicateEndpointProblem(reach, reached) ??
          (await applyCluster(tx, provider, setting, known.get(name)));
        if (problem === null) reached.push(reach);
        else refused.push({ name, problem });
      }
    }
    await markUnconfigured(tx, accepted);
    await refreshOpenFlags(tx);
    return refused;
  });
}

async function applyCluster(
  tx: Tx,
  provider: ProviderSetting,
  setting: ClusterSetting,
  cluster: ClusterRecord | undefined,
): Promise<string | null> {
  const problem = clusterSettingProblem(provider, setting, cluster);
  if (problem !== null) return problem;
  if (cluster === undefined)
    return (await insertCluster(tx, provider, setting)) ? null : REGISTERED_BY_OPERATOR;
  await updateCluster(tx, cluster, setting);
  return null;
}

type NamedEndpoint = Pick<ClusterRecord, 'name' | 'driver' | 'endpoint'>;

/** An engine with two names would sell its machines twice. */
function duplicateEndpointProblem(reach: NamedEndpoint, reached: readonly NamedEndpoint[]): string | null {
  const other = reached.find((known) => isSameEngine(known, reach));
  return other === undefined
    ? null
    : `its endpoint belongs to the cluster ${other.name}; remove that cluster first`;
}

const REGISTERED_BY_OPERATOR = 'an operator registered a cluster with this name';

/** A provider keeps its mode, because what is sold to test keys is never sold to live keys. */
function modeProblem({ id, variant }: ProviderSetting): string {
  const before = variant === 'mock' ? 'live' : 'test';
  return `its provider ${id} was for ${before} keys before and sells nothing now; give the provider another id`;
}

/** Nodes were sold under these properties, so changing one of them requires another name. */
function clusterSettingProblem(
  provider: ProviderSetting,
  setting: ClusterSetting,
  cluster: ClusterRecord | undefined,
): string | null {
  const endpoint = problemWithEndpoint(provider.driver, setting.endpoint);
  if (endpoint !== null) return `its endpoint ${endpoint}`;
  if (cluster === undefined) return null;
  if (cluster.origin !== 'configuration') return REGISTERED_BY_OPERATOR;
  const same =
    cluster.providerId === provider.id &&
    cluster.region === setting.region &&
    cluster.driver === provider.driver &&
    cluster.offer === setting.offer;
  return same ? null : 'its provider, region, driver or offer has changed; give the cluster another name';
}
