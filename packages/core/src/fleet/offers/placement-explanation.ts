import { placementBlockers, type MachineState, type PlacementBlocker } from '@millrace/contract';
import type { FabricId, NodeId } from '@millrace/platform/ids';
import { floorDivide } from '@millrace/platform/money';
import type { FleetGpuType } from '../inventory/gpu-models.ts';
import {
  countPlaceable,
  GPUS_PER_METAL_NODE,
  supportsCuda,
  fitsNodeSize,
  largestPlaceable,
  nodeLayoutOf,
  type Pool,
  type PoolKey,
  type NodeLayout,
} from './offers.ts';
import type { ConnectionType } from '../inventory/nodes.ts';

/** Explains whether a request can be placed, and finds alternatives. Pure. */

export interface PlacementQuery extends PoolKey {
  readonly gpuCount: number;
  /** Minimum CUDA. */
  readonly cuda: number | null;
}

/** Nodes of the requested region and machine type with equal facts. */
export interface NodeFacts {
  readonly nodes: number;
  /** Provider and region are enabled. */
  readonly regionOn: boolean;
  /** The nodes' open flag. */
  readonly open: boolean;
  /** The cluster has a recent heartbeat. */
  readonly watched: boolean;
  readonly status: MachineState;
  /** Placement reads this flag, which follows from the status. */
  readonly ready: boolean;
  readonly gpuType: FleetGpuType | null;
  readonly connectionType: ConnectionType;
  readonly cuda: number | null;
  readonly gpusTotal: number;
  readonly gpusFree: number;
  readonly idle: boolean;
  readonly fabricId: FabricId | null;
}

export interface Obstacle {
  readonly code: PlacementBlocker;
  readonly nodeCount: number;
}

export interface PlacementAssessment {
  /** Whether `place` would succeed now. */
  readonly placeable: boolean;
  /** Nodes of the region for this machine type. */
  readonly nodesConsidered: number;
  /** Nodes without an obstacle. With the counts of the obstacles they add up to `nodesConsidered`. */
  readonly nodesFitting: number;
  readonly obstacles: readonly Obstacle[];
  /** Idle nodes per fabric, for gangs. */
  readonly idleByFabric: ReadonlyMap<FabricId, number>;
}

/** `rentable`: tenants may request this machine type in this region. */
export function assessPlacement(
  request: PlacementQuery,
  rentable: boolean,
  facts: readonly NodeFacts[],
): PlacementAssessment {
  const nodesConsidered = countNodesIn(facts);
  const shape = nodeLayoutOf(request.machineType, request.gpuCount);
  const refused = requestObstacle(rentable, shape, nodesConsidered);
  if (refused !== null || shape === null) {
    const obstacles = refused === null ? [] : [{ code: refused, nodeCount: nodesConsidered }];
    return { placeable: false, nodesConsidered, nodesFitting: 0, obstacles, idleByFabric: new Map() };
  }
  const alone = facts.map((group) => ({ group, code: obstacleOf(group, request, shape) }));
  const idleByFabric = idleNodes(alone.filter(({ code }) => code === null).map(({ group }) => group));
  const assessed = alone.map(({ group, code }) => ({
    group,
    code: code ?? (fitsFabric(group, shape, idleByFabric) ? null : ('FABRIC_TOO_SMALL' as const)),
  }));
  const nodesFitting = countNodesIn(assessed.filter(({ code }) => code === null).map(({ group }) => group));
  const obstacles = placementBlockers
    .map((code) => ({
      code,
      nodeCount: countNodesIn(assessed.filter((each) => each.code === code).map(({ group }) => group)),
    }))
    .filter(({ nodeCount }) => nodeCount > 0);
  return { placeable: nodesFitting > 0, nodesConsidered, nodesFitting, obstacles, idleByFabric };
}

function requestObstacle(offered: boolean, shape: NodeLayout | null, nodes: number): PlacementBlocker | null {
  if (!offered) return 'REGION_NOT_OFFERED';
  if (shape === null) return 'GPU_COUNT_NOT_OFFERED';
  return nodes === 0 ? 'NO_NODES_IN_REGION' : null;
}

/** The first obstacle of a node by itself, without its fabric. */
function obstacleOf(node: NodeFacts, request: PlacementQuery, shape: NodeLayout): PlacementBlocker | null {
  if (!node.open) return node.regionOn ? 'CLUSTER_SILENT' : 'REGION_DISABLED';
  if (!node.watched) return 'CLUSTER_UNWATCHED';
  if (!node.ready) return stateObstacle(node.status);
  if (node.gpuType !== request.gpuType) return 'WRONG_GPU_TYPE';
  if (node.connectionType !== request.connectionType) return 'WRONG_NETWORK';
  if (!supportsCuda(node.cuda, request.cuda)) return 'CUDA_TOO_OLD';
  if (!fitsNodeSize(node.gpusTotal, shape)) return 'NODE_TOO_SMALL';
  const isRoom = shape.whole ? node.idle : node.gpusFree >= shape.gpusPerNode;
  return isRoom ? null : 'NO_FREE_GPUS';
}

function stateObstacle(status: MachineState): PlacementBlocker {
  switch (status) {
    case 'node_registering':
    case 'node_ready':
      return 'NODE_REGISTERING';
    case 'node_draining':
      return 'NODE_DRAINING';
    case 'node_quarantined':
      return 'NODE_QUARANTINED';
    case 'node_offline':
    case 'node_removed':
      return 'NODE_OFFLINE';
  }
}

function idleNodes(fitting: readonly NodeFacts[]): ReadonlyMap<FabricId, number> {
  const idle = new Map<FabricId, number>();
  for (const { fabricId, nodes } of fitting) {
    if (fabricId !== null) idle.set(fabricId, nodes + (idle.get(fabricId) ?? 0));
  }
  return idle;
}

function fitsFabric(
  node: NodeFacts,
  { nodeCount }: NodeLayout,
  idle: ReadonlyMap<FabricId, number>,
): boolean {
  if (nodeCount === 1) return true;
  return node.fabricId !== null && (idle.get(node.fabricId) ?? 0) >= nodeCount;
}

function countNodesIn(groups: readonly { readonly nodes: number }[]): number {
  return groups.reduce((sum, { nodes }) => sum + nodes, 0);
}

/** An expected change of a node: GPUs become free, or maintenance ends. */
export interface CapacityChange {
  readonly at: Date;
  readonly nodeId: NodeId;
  readonly fabricId: FabricId | null;
  /** All GPUs that are released then; `present` counts those that can be sold again. */
  readonly held: number;
  readonly present: number;
  /** End of the maintenance of the node; null if it accepts rentals now. */
  readonly takesFrom: Date | null;
  /** Current counts of the node. */
  readonly gpusFree: number;
  readonly gpusTotal: number;
  readonly gpusAllocated: number;
}

/**
 * The earliest time at which the request would fit if all `changes` happen and no other rental starts; null if they do
 * not suffice. `changes` are of nodes that match the request except for allocations and maintenance.
 */
export function earliestFitAt(
  shape: NodeLayout,
  changes: readonly CapacityChange[],
  idleByFabric: ReadonlyMap<FabricId, number>,
): Date | null {
  const nodes = new Map<NodeId, { free: number; allocated: number; counted: boolean }>();
  const idle = new Map(idleByFabric);
  for (const change of changes.toSorted((one, other) => one.at.getTime() - other.at.getTime())) {
    const { at, nodeId, fabricId, takesFrom, gpusTotal } = change;
    const node = nodes.get(nodeId) ?? {
      free: change.gpusFree,
      allocated: change.gpusAllocated,
      counted: false,
    };
    nodes.set(nodeId, node);
    node.free += change.present;
    node.allocated -= change.held;
    if (node.counted || (takesFrom !== null && at < takesFrom)) continue;
    const isRoom = shape.whole
      ? node.allocated === 0 && node.free === gpusTotal
      : node.free >= shape.gpusPerNode;
    if (!isRoom || !fitsNodeSize(gpusTotal, shape)) continue;
    if (shape.nodeCount === 1) return at;
    if (fabricId === null) continue;
    node.counted = true;
    const idleNow = 1 + (idle.get(fabricId) ?? 0);
    idle.set(fabricId, idleNow);
    if (idleNow >= shape.nodeCount) return at;
  }
  return null;
}

const MINUTE_MS = 60_000;

/** Precise enough for planning, too coarse to observe another tenant's rental. */
export function roundUpToMinute(at: Date): Date {
  return new Date(floorDivide(at.getTime(), MINUTE_MS) * MINUTE_MS);
}

export interface Alternative {
  readonly pool: Pool;
  /** Distance from the request; lower is better. */
  readonly distance: number;
  readonly gpuCount: number;
  readonly totalAvailable: number;
}

/** Alternatives, nearest first: another network or region, other GPUs, fewer GPUs of the same type. */
export function findAlternatives(request: PlacementQuery, pools: readonly Pool[]): readonly Alternative[] {
  return pools
    .filter((pool) => pool.mode === request.mode && pool.machineType === request.machineType)
    .flatMap((pool) => {
      const gpuCount = nearestGpuCount(request, largestPlaceable(pool, request.cuda));
      const shape = nodeLayoutOf(pool.machineType, gpuCount);
      const isWhole = gpuCount === request.gpuCount;
      const distance = distanceOf(request, pool, isWhole);
      // The request itself was just found not to fit, even if the snapshot of the pool says otherwise.
      if (gpuCount === 0 || shape === null || distance === null) return [];
      return { distance, pool, gpuCount, totalAvailable: countPlaceable(pool, shape, request.cuda) };
    })
    .toSorted((one, other) => one.distance - other.distance);
}

/** The nearest available number of GPUs, not above the requested one if possible. */
function nearestGpuCount({ machineType, gpuCount }: PlacementQuery, largest: number): number {
  if (machineType === 'virtual-machine') return Math.min(gpuCount, largest);
  const wholeNodes = Math.max(GPUS_PER_METAL_NODE, gpuCount - (gpuCount % GPUS_PER_METAL_NODE));
  return Math.min(wholeNodes, largest);
}

function distanceOf(request: PlacementQuery, pool: Pool, isWhole: boolean): number | null {
  const sameRegion = pool.region === request.region;
  const sameType = pool.gpuType === request.gpuType;
  const samePool = sameRegion && sameType && pool.connectionType === request.connectionType;
  if (isWhole) {
    if (samePool) return null;
    if (sameType) return sameRegion ? 0 : 2;
    return sameRegion ? 3 : 5;
  }
  if (!sameType) return null;
  return sameRegion ? 1 : 4;
}
