import { regions, type GpuType, type Region } from '@millrace/contract';
import { defineStatement, runStatement, type Reader } from '@millrace/platform/db';
import type { Mode } from '@millrace/platform/envelope';
import { fromUuid } from '@millrace/platform/ids';
import type { GpuFormFactor, ConnectionType } from '../inventory/nodes.ts';
import { GPUS_PER_METAL_NODE, type Availability, type Hardware, type PoolKey } from './offers.ts';
import type { MachineType } from '../../prices/index.ts';

/** SQL about availability. It reads what placement writes and keeps no counts. */

// Availability changes with every placement, is narrow and is read often; hardware is wide and rarely changes, so it is
// read separately. Rows are grouped, so their number does not grow with the fleet.

const freeNodesStatement = defineStatement(
  'fleet-offer-rooms',
  `select room.mode, room.offer, room.region, room.gpu_type, room.connection_type, room.cuda, room.gpus_free,
          sum(room.nodes)::int as nodes
     from (
       select capacity.cluster_id, capacity.mode, capacity.offer, capacity.region, capacity.gpu_type,
              capacity.connection_type, capacity.cuda, capacity.gpus_free, count(*) as nodes
         from node_capacity as capacity
        where capacity.placeable and capacity.gpus_free > 0 and (capacity.offer = 'virtual-machine'
           or (capacity.offer = 'bare-metal' and capacity.idle and capacity.gpus_total = $2))
        group by 1, 2, 3, 4, 5, 6, 7, 8) as room
     join clusters as cluster on cluster.id = room.cluster_id and cluster.beat_at >= $1
    group by 1, 2, 3, 4, 5, 6, 7`,
);

const fabricsStatement = defineStatement(
  'fleet-offer-fabrics',
  `select fabric.mode, fabric.offer, fabric.region, fabric.gpu_type, fabric.connection_type, fabric.idle_nodes,
          fabric.least_cuda, count(*)::int as fabrics
     from (
       select capacity.cluster_id, capacity.mode, capacity.offer, capacity.region, capacity.gpu_type,
              capacity.connection_type, count(*)::int as idle_nodes, min(coalesce(capacity.cuda, 0)) as least_cuda
         from node_capacity as capacity
        where capacity.placeable and capacity.idle and capacity.offer = 'bare-metal'
          and capacity.fabric_id is not null and capacity.gpus_total = $2
        group by capacity.fabric_id, 1, 2, 3, 4, 5, 6) as fabric
     join clusters as cluster on cluster.id = fabric.cluster_id and cluster.beat_at >= $1
    group by 1, 2, 3, 4, 5, 6, 7`,
);

const sellingClustersStatement = defineStatement(
  'fleet-offer-selling',
  `select cluster.id from clusters as cluster
    where cluster.beat_at >= $1
      and exists (select from node_capacity as capacity where capacity.cluster_id = cluster.id and capacity.open)`,
);

const hardwareStatement = defineStatement(
  'fleet-offer-hardware',
  `select capacity.cluster_id, capacity.mode, capacity.offer, capacity.region, capacity.gpu_type,
          capacity.connection_type, node.cpu_model, node.gpu_form_factor, capacity.gpus_total, count(*)::int as nodes,
          coalesce(min(node.cpu_count), 0) as cpu_count, coalesce(min(node.ram_mb), 0) as ram_mb,
          coalesce(min(node.storage_gb), 0) as storage_gb
     from node_capacity as capacity join nodes as node on node.id = capacity.node_id
    where capacity.offer <> 'marketplace' and capacity.gpu_type is not null and capacity.gpus_total > 0
      and node.status <> 'node_removed'
    group by 1, 2, 3, 4, 5, 6, 7, 8, 9`,
);

const fabricSizesStatement = defineStatement(
  'fleet-offer-fabric-sizes',
  `select fabric.mode, fabric.offer, fabric.region, fabric.gpu_type, fabric.connection_type, max(fabric.nodes) as nodes
     from (
       select capacity.mode, capacity.offer, capacity.region, capacity.gpu_type, capacity.connection_type,
              count(*)::int as nodes
         from node_capacity as capacity join nodes as node on node.id = capacity.node_id
        where capacity.offer = 'bare-metal' and capacity.gpu_type is not null and capacity.fabric_id is not null
          and capacity.gpus_total = $1 and node.status <> 'node_removed'
        group by capacity.fabric_id, 1, 2, 3, 4, 5) as fabric
    group by 1, 2, 3, 4, 5`,
);

interface PoolRow {
  mode: Mode;
  offer: MachineType;
  region: string;
  gpu_type: GpuType;
  connection_type: ConnectionType;
}

interface FreeNodesRow extends PoolRow {
  cuda: number | null;
  gpus_free: number;
  nodes: number;
}

interface FabricRow extends PoolRow {
  idle_nodes: number;
  least_cuda: number | null;
  fabrics: number;
}

/** Clusters whose last heartbeat is before `watchedSince` are excluded. */
export async function readAvailability(reader: Reader, watchedSince: Date): Promise<Availability> {
  const [rooms, fabrics, selling] = await Promise.all([
    runStatement<FreeNodesRow>(reader, freeNodesStatement, [watchedSince, GPUS_PER_METAL_NODE]),
    runStatement<FabricRow>(reader, fabricsStatement, [watchedSince, GPUS_PER_METAL_NODE]),
    runStatement<{ id: string }>(reader, sellingClustersStatement, [watchedSince]),
  ]);
  return {
    rooms: inPools(rooms, (row) => ({ cuda: row.cuda, gpusFree: row.gpus_free, nodes: row.nodes })),
    fabrics: inPools(fabrics, (row) => ({
      idleNodes: row.idle_nodes,
      leastCuda: row.least_cuda,
      fabrics: row.fabrics,
    })),
    selling: new Set(selling.map(({ id }) => fromUuid('cls', id))),
  };
}

interface HardwareRow extends PoolRow {
  cluster_id: string;
  cpu_model: string | null;
  gpu_form_factor: GpuFormFactor | null;
  gpus_total: number;
  nodes: number;
  cpu_count: number;
  ram_mb: number;
  storage_gb: number;
}

/** The hardware of nodes for rentals, in any state. */
export async function readHardware(reader: Reader): Promise<Hardware> {
  const [groups, fabrics] = await Promise.all([
    runStatement<HardwareRow>(reader, hardwareStatement, []),
    runStatement<PoolRow & { nodes: number }>(reader, fabricSizesStatement, [GPUS_PER_METAL_NODE]),
  ]);
  return {
    groups: inPools(groups, (row) => ({
      clusterId: fromUuid('cls', row.cluster_id),
      cpuModel: row.cpu_model,
      formFactor: row.gpu_form_factor,
      gpusTotal: row.gpus_total,
      nodes: row.nodes,
      least: { cpuCount: row.cpu_count, ramMb: row.ram_mb, storageGb: row.storage_gb },
    })),
    fabrics: inPools(fabrics, ({ nodes }) => ({ nodes })),
  };
}

/** Drops regions that no request can name. */
function inPools<Row extends PoolRow, Values>(
  rows: readonly Row[],
  valuesOf: (row: Row) => Values,
): readonly (PoolKey & Values)[] {
  return rows.flatMap((row) => {
    const { mode, offer: machineType, region, gpu_type: gpuType, connection_type: connectionType } = row;
    if (!isRegion(region)) return [];
    return { mode, machineType, region, gpuType, connectionType, ...valuesOf(row) };
  });
}

function isRegion(text: string): text is Region {
  return (regions as readonly string[]).includes(text);
}
