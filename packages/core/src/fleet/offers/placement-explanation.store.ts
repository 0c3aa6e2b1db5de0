import type { MachineState } from '@millrace/contract';
import { defineStatement, runStatement, type Reader } from '@millrace/platform/db';
import { fromUuid } from '@millrace/platform/ids';
import type { CapacityChange, NodeFacts, PlacementQuery } from './placement-explanation.ts';
import type { FleetGpuType } from '../inventory/gpu-models.ts';
import type { ConnectionType } from '../inventory/nodes.ts';

/** SQL for explanations. It returns counts and times, and nothing about other tenants' rentals. */

// One read of the region's nodes. The status is read only for nodes that are not ready, and fabrics only for gangs.
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

/** Nodes of the region, grouped by equal facts. */
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

/** Only the earliest ends of rentals are considered. */
const RENTAL_ENDS_MAX = 1_000;

// One lookup per allocation and node, so the cost does not grow with the fleet or with its history. A node drained by
// maintenance returns when its last window ends.
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

/** Expected changes of nodes that match the request except for allocations and maintenance. */
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
