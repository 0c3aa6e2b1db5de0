import { sql, type RawBuilder } from 'kysely';

/** SQL fragments about clusters and nodes for queries of other features, so that only fleet names its tables. */

/** Clusters that were not removed. Columns: id, name. */
export const currentClusters = sql`(select id, name from clusters where status <> 'removed')`;

export function nodeName(column: string): RawBuilder<string> {
  return sql<string>`(select name from nodes where nodes.id = ${sql.ref(column)})`;
}

/** Columns: id, status, and watching_since and beat_at of the cluster. */
export const observedNodes = sql`(
    select node.id, node.status, cluster.watching_since, cluster.beat_at
      from nodes as node join clusters as cluster on cluster.id = node.cluster_id)`;

/** Nodes that may have rentals. Columns: id, hardware_read_at. */
export const nodesInService = sql`(
    select id, hardware_read_at from nodes where status in ('node_ready', 'node_draining', 'node_offline'))`;

/** Columns: id, cluster_id, cluster_name, region, mode, supplier_org_id; settings only of the operator's clusters. */
export const marketplaceNodes = sql`(
    select node.id, node.cluster_id, cluster.name as cluster_name, cluster.region, provider.mode, cluster.supplier_org_id,
           case when cluster.supplier_org_id is null then cluster.settings end as settings
      from nodes as node
      join clusters as cluster on cluster.id = node.cluster_id
      join providers as provider on provider.id = cluster.provider_id
     where node.status <> 'node_removed' and cluster.offer = 'marketplace' and cluster.status <> 'removed')`;

/** For prepared statements. Columns: id, variant. */
export const providerVariantsText = '(select id, variant from providers)';

/** For prepared statements. Columns: id, cpu_model, gpu_form_factor. */
export const nodeHardwareText = '(select id, cpu_model, gpu_form_factor from nodes)';
