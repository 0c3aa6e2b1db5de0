import { sql, type RawBuilder } from 'kysely';

/** SQL about clusters and nodes that other features compose with their own tables. */

/** Clusters that were not removed. Columns: id, name. */
export const currentClusters = sql`(select id, name from clusters where status <> 'removed')`;

/** The name of the node that the column refers to. */
export function nodeName(column: string): RawBuilder<string> {
  return sql<string>`(select name from nodes where nodes.id = ${sql.ref(column)})`;
}

/** Nodes with the time in which their cluster was observed. Columns: id, status, watching_since, beat_at. */
export const observedNodes = sql`(
    select node.id, node.status, cluster.watching_since, cluster.beat_at
      from nodes as node join clusters as cluster on cluster.id = node.cluster_id)`;

/** Nodes that may have rentals. Columns: id, hardware_read_at. */
export const nodesInService = sql`(
    select id, hardware_read_at from nodes where status in ('node_ready', 'node_draining', 'node_offline'))`;

/**
 * Nodes of clusters whose offer is the marketplace. Columns: id, cluster_id, cluster_name, region, mode, supplier_org_id; settings of
 * the cluster where it is the operator's.
 */
export const marketplaceNodes = sql`(
    select node.id, node.cluster_id, cluster.name as cluster_name, cluster.region, provider.mode, cluster.supplier_org_id,
           case when cluster.supplier_org_id is null then cluster.settings end as settings
      from nodes as node
      join clusters as cluster on cluster.id = node.cluster_id
      join providers as provider on provider.id = cluster.provider_id
     where node.status <> 'node_removed' and cluster.offer = 'marketplace' and cluster.status <> 'removed')`;

/** Providers in the text of a prepared statement. Columns: id, variant. */
export const providerVariantsText = '(select id, variant from providers)';

/** The hardware of nodes in the text of a prepared statement. Columns: id, cpu_model, gpu_form_factor. */
export const nodeHardwareText = '(select id, cpu_model, gpu_form_factor from nodes)';
