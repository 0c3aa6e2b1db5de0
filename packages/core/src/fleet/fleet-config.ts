import type { ClusterSetting, ProviderSetting } from '@millrace/platform/config';
import type { Db } from '@millrace/platform/db';
import { refreshOpen } from './clusters.store.ts';
import type { ClusterRecord } from './clusters.ts';
import { problemWithEndpoint } from './endpoints.ts';
import {
  insertCluster,
  listConfigured,
  lockConfiguration,
  unconfigure,
  updateCluster,
  upsertProvider,
  upsertRegions,
} from './fleet-config.store.ts';

/** A cluster of the configuration that was left as it is, and why. */
export interface RefusedCluster {
  readonly name: string;
  readonly problem: string;
}

/**
 * Brings the tables in line with the configuration, in one transaction. Every worker does it at its start; those that
 * start together take turns, and the second finds nothing to do. The operator's switches are not touched. What the
 * configuration no longer names stays for the record, is watched for as long as something runs on it, and sells nothing.
 */
export async function applyFleetConfig(
  db: Db,
  providers: readonly ProviderSetting[],
): Promise<readonly RefusedCluster[]> {
  return db.transaction({ name: 'apply fleet configuration', isolation: 'read committed' }, async (tx) => {
    await lockConfiguration(tx);
    for (const provider of providers) {
      await upsertProvider(tx, provider);
      await upsertRegions(tx, provider.id, provider.regions);
    }
    const known = new Map((await listConfigured(tx)).map((cluster) => [cluster.name, cluster]));
    const refused: RefusedCluster[] = [];
    for (const provider of providers) {
      for (const setting of provider.clusters) {
        const cluster = known.get(setting.name);
        const problem = problemWith(provider, setting, cluster);
        if (problem !== null) refused.push({ name: setting.name, problem });
        else if (cluster === undefined) await insertCluster(tx, provider, setting);
        else await updateCluster(tx, cluster, setting);
      }
    }
    await unconfigure(tx, providers);
    await refreshOpen(tx);
    return refused;
  });
}

/**
 * What a cluster is cannot change under its name: its nodes were sold as that. One that moves to another provider,
 * region, driver or offer is another cluster, and is given another name.
 */
function problemWith(
  provider: ProviderSetting,
  setting: ClusterSetting,
  cluster: ClusterRecord | undefined,
): string | null {
  const endpoint = problemWithEndpoint(provider.driver, setting.endpoint);
  if (endpoint !== null) return `its endpoint ${endpoint}`;
  if (cluster === undefined) return null;
  if (cluster.origin !== 'configuration') return 'a cluster of this name was registered by hand';
  const same =
    cluster.providerId === provider.id &&
    cluster.region === setting.region &&
    cluster.driver === provider.driver &&
    cluster.offer === setting.offer;
  return same ? null : 'its provider, region, driver or offer differs from before: give it another name';
}
