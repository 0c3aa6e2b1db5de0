import type { Reader } from '@millrace/platform/db';
import { fromUuid, toUuid, type NodeId } from '@millrace/platform/ids';
import { sql } from 'kysely';

/** SQL about nodes for the marketplace listing, so that only fleet names its tables. */

export async function listMarketplaceNodeIds(
  reader: Reader,
  page: { readonly after: NodeId | null; readonly limit: number },
): Promise<readonly NodeId[]> {
  const { rows } = await sql<{ node_id: string }>`
    select node_id from node_capacity
     where offer = 'marketplace' and node_id > ${page.after === null ? zeroUuid : toUuid(page.after)}
     order by node_id limit ${page.limit}
  `.execute(reader.kysely);
  return rows.map(({ node_id: id }) => fromUuid('nod', id));
}

const zeroUuid = '00000000-0000-0000-0000-000000000000';

/** SQL of relations of other features, which fleet must not name. */
export interface NodeFactsRelations {
  /** Lateral over `allocation`: id, status and state of its rental. */
  readonly occupant: string;
  /** Columns: node_id, and tests, the results of the self-test. */
  readonly selfTests: string;
}

/**
 * The text of a prepared statement about the nodes in `$1`, without nodes of mixed GPU types. Lists are text lines,
 * because parsing JSON would take longer than everything else.
 */
export function nodeFactsText({ occupant, selfTests }: NodeFactsRelations): string {
  return `
  select node.id, node.status, node.address, node.cpu_model, node.cpu_count, node.ram_mb, node.storage_gb,
         node.gpu_form_factor, capacity.open, capacity.gpus_total, capacity.gpus_free, capacity.connection_type,
         cluster.port_last - cluster.port_first + 1 as ports,
         (select count(*)::int from allocated_ports as port
           where port.node_id = node.id and port.protocol = 'tcp' and port.released_at is null) as ports_used,
         machine.tests,
         array(select concat_ws(' ', count(*), coalesce(gpu.ram_mb, 0), gpu.model) from gpus as gpu
                where gpu.node_id = node.id and gpu.state = 'present'
                group by gpu.model, gpu.ram_mb order by gpu.model, gpu.ram_mb) as gpus,
         array(select concat_ws(' ', coalesce(rental.id, allocation.external_id), coalesce(rental.status, 'Pending'),
                                coalesce(rental.state, 'wanted'), count(*), coalesce(gpu.ram_mb, 0), gpu.model)
                 from allocated_gpus as sold
                 join allocations as allocation on allocation.id = sold.allocation_id
                 join gpus as gpu on gpu.id = sold.gpu_id
                 left join lateral ${occupant} as rental on true
                where sold.node_id = node.id and sold.released_at is null
                group by rental.id, rental.status, rental.state, allocation.external_id, gpu.model, gpu.ram_mb
                order by coalesce(rental.id, allocation.external_id), gpu.model, gpu.ram_mb) as occupants
    from nodes as node
    join node_capacity as capacity on capacity.node_id = node.id
    join clusters as cluster on cluster.id = node.cluster_id
    left join ${selfTests} as machine on machine.node_id = node.id
   where node.id = any ($1::uuid[]) and capacity.gpu_type is not null`;
}
