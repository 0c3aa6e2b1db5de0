import { bareMetalRegions, virtualMachineRegions, type GpuType, type Region } from '@millrace/contract';
import type { Mode } from '@millrace/platform/envelope';
import type { ClusterId } from '@millrace/platform/ids';
import { divideWithRemainder } from '@millrace/platform/money';
import type { MachineType } from '../../prices/index.ts';
import type { GpuFormFactor, ConnectionType, OfferKind } from '../inventory/nodes.ts';

/** Computes the offers from the counts that placement maintains. Pure. */

/** Bare metal is rented by whole nodes; the API requires a multiple of 8 GPUs. */
export const GPUS_PER_METAL_NODE = 8;

export interface NodeLayout {
  readonly gpusPerNode: number;
  readonly nodeCount: number;
  /** Bare metal: a node has one tenant and must have exactly these GPUs. */
  readonly whole: boolean;
}

/** Returns null if no machine of this type can have this many GPUs. */
export function nodeLayoutOf(machineType: MachineType, gpuCount: number): NodeLayout | null {
  if (machineType === 'virtual-machine') return { gpusPerNode: gpuCount, nodeCount: 1, whole: false };
  const [nodeCount, rest] = divideWithRemainder(gpuCount, GPUS_PER_METAL_NODE);
  if (rest !== 0 || nodeCount === 0) return null;
  return { gpusPerNode: GPUS_PER_METAL_NODE, nodeCount, whole: true };
}

/** All that a request can name besides GPU count and CUDA. */
export interface PoolKey {
  readonly mode: Mode;
  readonly machineType: MachineType;
  readonly region: Region;
  readonly gpuType: GpuType;
  readonly connectionType: ConnectionType;
}

const regionsFor: Readonly<Record<MachineType, readonly Region[]>> = {
  'virtual-machine': virtualMachineRegions,
  'bare-metal': bareMetalRegions,
};

/** Whether tenants may request this machine type in this region. Excludes the operator's private regions. */
export function isRentableRegion(request: Pick<PoolKey, 'mode' | 'machineType' | 'region'>): boolean {
  return regionsFor[request.machineType].includes(request.region) && isRegionInMode(request);
}

/**
 * Test keys use mock-region and live keys never do. The API has no mock region for bare metal, so test keys rent it in
 * all of its regions, from the mock provider.
 */
export function isRegionInMode(request: {
  readonly mode: Mode;
  readonly machineType: OfferKind;
  readonly region: string;
}): boolean {
  const isMock = request.region === 'mock-region';
  if (request.machineType === 'bare-metal') return !isMock;
  return isMock === (request.mode === 'test');
}

export interface NodeHardware {
  readonly cpuCount: number;
  readonly ramMb: number;
  readonly storageGb: number;
  /** Includes missing GPUs, because a tenant may hold their share. */
  readonly gpusTotal: number;
}

export interface NodeShare {
  readonly vcpuCount: number;
  readonly ramGb: number;
  readonly storageGb: number;
  readonly gpuCount: number;
}

export const MB_PER_GB = 1024;

/** Rounded down, so that all shares together never exceed the node. */
export function shareOfNode(node: NodeHardware, gpuCount: number): NodeShare {
  const part = (amount: number): number =>
    node.gpusTotal === 0 ? 0 : divideWithRemainder(amount * gpuCount, node.gpusTotal)[0];
  return {
    vcpuCount: part(node.cpuCount),
    ramGb: divideWithRemainder(part(node.ramMb), MB_PER_GB)[0],
    storageGb: part(node.storageGb),
    gpuCount,
  };
}

/** Nodes of one cluster with equal hardware, in any state. Changes rarely. */
export interface HardwareGroup extends PoolKey {
  readonly clusterId: ClusterId;
  readonly cpuModel: string | null;
  readonly formFactor: GpuFormFactor | null;
  /** Per node. */
  readonly gpusTotal: number;
  readonly nodes: number;
  /** The minimum over these nodes. */
  readonly least: Omit<NodeHardware, 'gpusTotal'>;
}

/** The largest fabric of a pool, counting nodes in any state. */
export interface FabricSize extends PoolKey {
  readonly nodes: number;
}

/** Nodes with an equal number of free GPUs. For bare metal only idle nodes count. */
export interface FreeNodes extends PoolKey {
  readonly cuda: number | null;
  /** Per node. */
  readonly gpusFree: number;
  readonly nodes: number;
}

/** Fabrics with an equal number of idle nodes. */
export interface FreeFabrics extends PoolKey {
  readonly idleNodes: number;
  /** The oldest CUDA of these nodes, because a gang needs it on all of its nodes. */
  readonly leastCuda: number | null;
  readonly fabrics: number;
}

export interface Hardware {
  readonly groups: readonly HardwareGroup[];
  readonly fabrics: readonly FabricSize[];
}

export interface Availability {
  readonly rooms: readonly FreeNodes[];
  readonly fabrics: readonly FreeFabrics[];
  /** Clusters that are open and observed. */
  readonly selling: ReadonlySet<ClusterId>;
}

export interface Pool extends PoolKey {
  readonly hardware: readonly HardwareGroup[];
  readonly largestFabric: number;
  readonly rooms: readonly FreeNodes[];
  readonly fabrics: readonly FreeFabrics[];
  /** False if no cluster of the pool is open and observed. */
  readonly enabled: boolean;
}

/** Pools that tenants may request, in a fixed order. */
export function poolsOf(hardware: Hardware, now: Availability): readonly Pool[] {
  const sizes = Map.groupBy(hardware.fabrics, poolName);
  const rooms = Map.groupBy(now.rooms, poolName);
  const fabrics = Map.groupBy(now.fabrics, poolName);
  return [...Map.groupBy(hardware.groups, poolName)]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, members]) => {
      const [first] = members;
      if (first === undefined || !isRentableRegion(first)) return [];
      const { mode, machineType, region, gpuType, connectionType } = first;
      return {
        mode,
        machineType,
        region,
        gpuType,
        connectionType,
        hardware: members,
        largestFabric: Math.max(0, ...(sizes.get(name) ?? []).map(({ nodes }) => nodes)),
        rooms: rooms.get(name) ?? [],
        fabrics: fabrics.get(name) ?? [],
        enabled: members.some(({ clusterId }) => now.selling.has(clusterId)),
      };
    });
}

/** Free nodes that are missing in the hardware mean that the hardware was read too long ago. */
export function isHardwareStale(hardware: Hardware, now: Availability): boolean {
  const largest = new Map<string, number>();
  for (const group of hardware.groups) {
    const name = poolName(group);
    largest.set(name, Math.max(group.gpusTotal, largest.get(name) ?? 0));
  }
  return now.rooms.some((room) => room.gpusFree > (largest.get(poolName(room)) ?? 0));
}

function poolName({ mode, machineType, region, gpuType, connectionType }: PoolKey): string {
  return `${mode} ${region} ${machineType} ${gpuType} ${connectionType}`;
}

/** How many machines of this layout could be placed one after the other. */
export function countPlaceable(
  pool: Pick<Pool, 'rooms' | 'fabrics'>,
  { gpusPerNode, nodeCount }: NodeLayout,
  cuda: number | null,
): number {
  if (nodeCount > 1) {
    return pool.fabrics
      .filter(({ leastCuda }) => supportsCuda(leastCuda, cuda))
      .reduce(
        (sum, { idleNodes, fabrics }) => sum + fabrics * divideWithRemainder(idleNodes, nodeCount)[0],
        0,
      );
  }
  return pool.rooms
    .filter((room) => supportsCuda(room.cuda, cuda))
    .reduce((sum, { gpusFree, nodes }) => sum + nodes * divideWithRemainder(gpusFree, gpusPerNode)[0], 0);
}

/** The largest machine, in GPUs, that could be placed now. */
export function largestPlaceable(
  pool: Pick<Pool, 'machineType' | 'rooms' | 'fabrics'>,
  cuda: number | null,
): number {
  const rooms = pool.rooms.filter((room) => supportsCuda(room.cuda, cuda));
  const onOneNode = Math.max(0, ...rooms.map(({ gpusFree }) => gpusFree));
  if (pool.machineType === 'virtual-machine') return onOneNode;
  const fabrics = pool.fabrics.filter(({ leastCuda }) => supportsCuda(leastCuda, cuda));
  const single = onOneNode >= GPUS_PER_METAL_NODE ? 1 : 0;
  return GPUS_PER_METAL_NODE * Math.max(single, ...fabrics.map(({ idleNodes }) => idleNodes));
}

/** Same rule as placement: a node without a known CUDA fits only requests without one. */
export function supportsCuda(actual: number | null, wanted: number | null): boolean {
  return wanted === null || (actual !== null && actual >= wanted);
}

/** Whether a node of this size could fit the layout when idle. */
export function fitsNodeSize(gpusTotal: number, { gpusPerNode, whole }: NodeLayout): boolean {
  return whole ? gpusTotal === gpusPerNode : gpusTotal >= gpusPerNode;
}

/** Converts to the number that placement compares: `cuda12.8` is 1208. */
export function parseCudaRequirement(version: string | undefined): number | null {
  if (version === undefined) return null;
  const [major = 0, minor = 0] = version.replace('cuda', '').split('.').map(Number);
  return major * 100 + minor;
}

export interface RentalOffer extends PoolKey {
  readonly gpuCount: number;
  readonly gpuFormFactor: GpuFormFactor;
  readonly totalAvailable: number;
  readonly enabled: boolean;
  /** The guaranteed minimum, per node. */
  readonly nodes: readonly (NodeShare & { readonly cpuModel: string })[];
}

/** Includes sizes that are not available now. */
export function offersOf(pools: readonly Pool[]): readonly RentalOffer[] {
  return pools.flatMap((pool) => {
    const { mode, machineType, region, gpuType, connectionType, enabled } = pool;
    const shared = { mode, machineType, region, gpuType, connectionType, enabled };
    return sizesOf(pool).map(({ gpuCount, shape }) => {
      const able = pool.hardware.filter(({ gpusTotal }) => fitsNodeSize(gpusTotal, shape));
      const usual = mostCommon(able);
      const node = { cpuModel: usual?.cpuModel ?? 'unknown', ...minShare(able, shape.gpusPerNode) };
      return {
        ...shared,
        gpuCount,
        gpuFormFactor: usual?.formFactor ?? defaultFormFactor[gpuType],
        totalAvailable: countPlaceable(pool, shape, null),
        nodes: Array.from({ length: shape.nodeCount }, () => node),
      };
    });
  });
}

/** The guaranteed disk of a machine; null if no node of the pool can fit the layout. */
export function minDiskOf(pool: Pick<Pool, 'hardware'>, shape: NodeLayout): number | null {
  const able = pool.hardware.filter(({ gpusTotal }) => fitsNodeSize(gpusTotal, shape));
  if (able.length === 0) return null;
  return Math.max(1, minShare(able, shape.gpusPerNode).storageGb);
}

/** Used if the engine reported no form factor. */
export const defaultFormFactor = { h100: 'sxm5', h200: 'sxm5', b200: 'sxm6' } as const satisfies Readonly<
  Record<GpuType, GpuFormFactor>
>;

/** Up to this many nodes every gang size is listed, beyond it every doubling. Tenants can rent other sizes too. */
const EVERY_GANG_UP_TO = 8;

function sizesOf(pool: Pool): readonly { readonly gpuCount: number; readonly shape: NodeLayout }[] {
  const totals = pool.hardware.map(({ gpusTotal }) => gpusTotal);
  const counts =
    pool.machineType === 'virtual-machine'
      ? doublings(1, Math.max(0, ...totals))
      : gangSizes(totals, pool.largestFabric).map((nodes) => nodes * GPUS_PER_METAL_NODE);
  return counts.flatMap((gpuCount) => {
    const shape = nodeLayoutOf(pool.machineType, gpuCount);
    return shape === null ? [] : { gpuCount, shape };
  });
}

function gangSizes(totals: readonly number[], largestFabric: number): readonly number[] {
  if (!totals.includes(GPUS_PER_METAL_NODE)) return [];
  const most = Math.max(1, largestFabric);
  const small = Array.from({ length: Math.min(most, EVERY_GANG_UP_TO) }, (_, index) => index + 1);
  return [...small, ...doublings(2 * EVERY_GANG_UP_TO, most)];
}

function doublings(first: number, last: number): readonly number[] {
  const numbers: number[] = [];
  for (let number = first; number <= last; number *= 2) numbers.push(number);
  return numbers;
}

function mostCommon(groups: readonly HardwareGroup[]): HardwareGroup | undefined {
  return groups.toSorted(
    (one, other) => other.nodes - one.nodes || ((one.cpuModel ?? '') < (other.cpuModel ?? '') ? -1 : 1),
  )[0];
}

/** Placement may take any node of the pool, so an offer guarantees the minimum of each value. */
function minShare(groups: readonly HardwareGroup[], gpuCount: number): NodeShare {
  const shares = groups.map(({ least, gpusTotal }) => shareOfNode({ ...least, gpusTotal }, gpuCount));
  const leastOf = (amounts: readonly number[]): number => (amounts.length === 0 ? 0 : Math.min(...amounts));
  return {
    vcpuCount: leastOf(shares.map((share) => share.vcpuCount)),
    ramGb: leastOf(shares.map((share) => share.ramGb)),
    storageGb: leastOf(shares.map((share) => share.storageGb)),
    gpuCount,
  };
}
