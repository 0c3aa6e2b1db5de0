import type { MachineState } from '@millrace/contract';
import { defineStatement, runStatement, type Reader } from '@millrace/platform/db';
import { fromUuid } from '@millrace/platform/ids';
import type { CapacityChange, NodeFacts, PlacementQuery } from './placement-explanation.ts';
import type { FleetGpuType } from '../inventory/gpu-models.ts';
import type { ConnectionType } from '../inventory/nodes.ts';

/** All SQL about why a wish can or cannot be placed. It answers counts and times, and nothing of who rents what. */

// One read of the region's nodes. Their state is looked up only where it says more than that they are ready, and fabrics
// are told apart only for gangs, which are the only ones they matter to.
const nodeFactsStatement = defineStatement(
  'fleet-explain-facts',
  `select provider.enabled and provider.configured and provider_region.enabled and provider_region.configured
            as region_on,
          alike.open, coalesce(cluster.beat_at >= $4, false) as watched, alike.status, alike.ready, alike.gpu_type,
          alike.connection_type, alike.cuda, alike.gpus_total, alike.gpus_free, alike.idle, alike.fabric_id,
          sum(alike.nodes)::int as nodes
     from (
       select capacity.cluster_id, capacity.provider_id, capacity.region, capacity.open, capacity.ready,
              capacity.gpu_type, capacity.connection_type, capacity.cuda, capacity.gpus_total, capacity.gpus_free,
              capacity.idle, case when $5 then capacity.fabric_id end as fabric_id,
              case when capacity.ready then 'node_ready' else (
                select node.status from nodes as node where node.id = capacity.node_id) end as status,
              count(*) as nodes
         from node_capacity as capacity
        where capacity.mode = $1 and capacity.offer = $2 and capacity.region = $3
        group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13) as alike
     join clusters as cluster on cluster.id = alike.cluster_id
     join providers as provider on provider.id = alike.provider_id
     join provider_regions as provider_region
       on provider_region.provider_id = alike.provider_id and provider_region.region = alike.region
    where alike.status <> 'node_removed'
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12`,
);

interface NodeFactsRow {
  region_on: boolean;
  open: boolean;
  watched: boolean;
  status: MachineState;
  ready: boolean;
  gpu_type: FleetGpuType | null;
  connection_type: ConnectionType;
  cuda: number | null;
  gpus_total: number;
  gpus_free: number;
  idle: boolean;
  fabric_id: string | null;
  nodes: number;
}

/** The nodes that a wish considers, by what is true of them. */
export async function readNodeFacts(
  reader: Reader,
  request: Pick<PlacementQuery, 'mode' | 'machineType' | 'region'>,
  options: { readonly watchedSince: Date; readonly byFabric: boolean },
): Promise<readonly NodeFacts[]> {
  const { mode, machineType, region } = request;
  const values = [mode, machineType, region, options.watchedSince, options.byFabric];
  const rows = await runStatement<NodeFactsRow>(reader, nodeFactsStatement, values);
  return rows.map((row) => ({
    nodes: row.nodes,
    regionOn: row.region_on,
    open: row.open,
    watched: row.watched,
    status: row.status,
    ready: row.ready,
    gpuType: row.gpu_type,
    connectionType: row.connection_type,
    cuda: row.cuda,
    gpusTotal: row.gpus_total,
    gpusFree: row.gpus_free,
    idle: row.idle,
    fabricId: row.fabric_id === null ? null : fromUuid('fab', row.fabric_id),
  }));
}

/** How many ends of rentals are looked at, soonest first. What is only free after as many is not known. */
const RENTAL_ENDS_MAX = 1_000;

// One look-up for each allocation and each node, so that it grows neither with the fleet nor with what has ended. A node
// that a maintenance window drained comes back when the last of the windows that hold it ends.
const capacityChangesStatement = defineStatement(
  'fleet-explain-changes',
  `with ending as materialized (
       select soon.frees_at, ended.node_id, ended.held, ended.present
         from (
           select allocation.id, allocation.frees_at
             from allocations as allocation
            where allocation.region = $3 and allocation.mode = $1 and allocation.state <> 'released'
              and allocation.frees_at > $8
            order by allocation.frees_at limit ${RENTAL_ENDS_MAX}) as soon
        cross join lateral (
           select sold.node_id, count(*)::int as held, count(*) filter (where gpu.state = 'present')::int as present
             from allocated_gpus as sold join gpus as gpu on gpu.id = sold.gpu_id
            where sold.allocation_id = soon.id and sold.released_at is null
            group by 1) as ended),
     away as materialized (
       select held.node_id, max(maintenance.ends_at) as takes_from
         from maintenance_nodes as held
         join maintenance_windows as maintenance on maintenance.id = held.window_id
        where held.hold = 'held' and maintenance.status in ('announced', 'in_progress')
        group by 1),
     suitable as materialized (
       select capacity.node_id, capacity.fabric_id, capacity.gpus_free, capacity.gpus_total, capacity.gpus_allocated,
              away.takes_from
         from (select node_id from ending union select node_id from away) as touched
        cross join lateral (
           select * from node_capacity where node_capacity.node_id = touched.node_id offset 0) as capacity
         join nodes as node on node.id = capacity.node_id
         join clusters as cluster on cluster.id = capacity.cluster_id and cluster.beat_at >= $7
         left join away on away.node_id = capacity.node_id and node.status = 'node_draining'
        where capacity.open and (capacity.ready or away.takes_from is not null) and capacity.mode = $1
          and capacity.offer = $2 and capacity.region = $3 and capacity.gpu_type = $4
          and capacity.connection_type = $5 and ($6::int is null or capacity.cuda >= $6))
   select ending.frees_at as at, ending.held, ending.present, suitable.*
     from ending join suitable on suitable.node_id = ending.node_id
    union all
   select suitable.takes_from, 0, 0, suitable.* from suitable where suitable.takes_from is not null`,
);

interface CapacityChangeRow {
  at: Date;
  held: number;
  present: number;
  node_id: string;
  fabric_id: string | null;
  gpus_free: number;
  gpus_total: number;
  gpus_allocated: number;
  takes_from: Date | null;
}

/** What is known to happen to nodes that suit the wish but for what is sold of them, and for maintenance. */
export async function readCapacityChanges(
  reader: Reader,
  request: PlacementQuery,
  times: { readonly watchedSince: Date; readonly endsAfter: Date },
): Promise<readonly CapacityChange[]> {
  const { mode, machineType, region, gpuType, connectionType, cuda } = request;
  const { watchedSince, endsAfter } = times;
  const values = [mode, machineType, region, gpuType, connectionType, cuda, watchedSince, endsAfter];
  const rows = await runStatement<CapacityChangeRow>(reader, capacityChangesStatement, values);
  return rows.map((row) => ({
    at: row.at,
    held: row.held,
    present: row.present,
    nodeId: fromUuid('nod', row.node_id),
    fabricId: row.fabric_id === null ? null : fromUuid('fab', row.fabric_id),
    takesFrom: row.takes_from,
    gpusFree: row.gpus_free,
    gpusTotal: row.gpus_total,
    gpusAllocated: row.gpus_allocated,
  }));
}
