import type { Mode } from '@millrace/platform/envelope';
import type { AllocationId, FabricId, GpuId, NodeId, OrgId } from '@millrace/platform/ids';
import type { FleetGpuType } from '../inventory/gpu-models.ts';
import type { ConnectionType, OfferKind } from '../inventory/nodes.ts';

/** Which GPUs a rental gets. Pure: what is free is told, and the same facts give the same choice. */

/** What must be true of the nodes. All of it is matched exactly except `cuda`, which is a minimum. */
export interface PlacementRequirements {
  readonly mode: Mode;
  readonly offer: OfferKind;
  readonly region: string;
  readonly gpuType: FleetGpuType;
  readonly connectionType: ConnectionType;
  /** The newest CUDA that the node's driver must support, as a number: 12.8 is 1208. */
  readonly cuda: number | null;
  /** GPUs on each node. */
  readonly gpusPerNode: number;
  /** More than one is a gang: whole nodes of one fabric, all or none. */
  readonly nodeCount: number;
  /** Nodes that were tried already, or are suspect. */
  readonly except: readonly NodeId[];
  /** Only this node, as a marketplace tenant asks for it by name. */
  readonly only: NodeId | null;
}

export interface PlacementRequest extends PlacementRequirements {
  readonly orgId: OrgId;
  readonly externalId: string;
  readonly holder: 'rental' | 'instance';
  /** Ports inside the machine that must be reachable at the address of its node. */
  readonly ports: readonly RequestedPort[];
  /** When it is known to end, if it is. */
  readonly freesAt: Date | null;
}

export interface RequestedPort {
  readonly internalPort: number;
  readonly protocol: 'tcp' | 'udp';
}

export interface AssignedPort extends RequestedPort {
  readonly externalPort: number;
}

export interface Placement {
  readonly allocationId: AllocationId;
  readonly externalId: string;
  readonly nodes: readonly PlacedNode[];
}

export interface PlacedNode {
  readonly nodeId: NodeId;
  readonly gpus: readonly PlacedGpu[];
  /** None where machines have an address of their own: there each port is at its own number. */
  readonly ports: readonly AssignedPort[];
}

export interface PlacedGpu {
  readonly gpuId: GpuId;
  readonly pciAddress: string;
}

/** Idle nodes of one fabric, as many as were looked for at most. */
export interface FabricCandidate {
  readonly fabricId: FabricId;
  readonly idleNodes: number;
  readonly turn: number;
}

/** The fabrics that can hold the gang, tightest first: large fabrics stay whole for large gangs. */
export function rankFabrics(fabrics: readonly FabricCandidate[], count: number): readonly FabricCandidate[] {
  return fabrics
    .filter((fabric) => fabric.idleNodes >= count)
    .toSorted(
      (one, other) =>
        one.idleNodes - other.idleNodes || one.turn - other.turn || (one.fabricId < other.fabricId ? -1 : 1),
    );
}

export interface FreeGpu extends PlacedGpu {
  readonly numaNode: number | null;
}

/**
 * The GPUs to take of a node's free ones; null when there are too few. All from one NUMA node if one has enough, and
 * then from the one that is left with the fewest; otherwise from as few NUMA nodes as possible, fullest first.
 */
export function chooseGpus(free: readonly FreeGpu[], count: number): readonly PlacedGpu[] | null {
  if (count < 1 || free.length < count) return null;
  const groups = [...Map.groupBy(free, (gpu) => gpu.numaNode ?? -1).entries()]
    .toSorted(([one], [other]) => one - other)
    .map(([, gpus]) => gpus.toSorted((one, other) => (one.pciAddress < other.pciAddress ? -1 : 1)));
  const [tightest] = groups
    .filter((gpus) => gpus.length >= count)
    .toSorted((one, other) => one.length - other.length);
  const order = tightest ?? groups.toSorted((one, other) => other.length - one.length).flat();
  return order.slice(0, count).map(({ gpuId, pciAddress }) => ({ gpuId, pciAddress }));
}

/**
 * Ports for a machine: of each protocol the first that nobody has, from some place in the range on and around. Who begins
 * at another place each time does not hand out next what was just given back: names, firewalls and people may still take
 * that for somebody else's. Null when the range has too few left.
 */
export function choosePorts(
  wanted: readonly RequestedPort[],
  taken: ReadonlySet<string>,
  range: { readonly first: number; readonly last: number },
  start: number,
): readonly AssignedPort[] | null {
  const given: AssignedPort[] = [];
  const size = range.last - range.first + 1;
  const portAt = (step: number): number => range.first + ((start + step) % size);
  const next = { tcp: 0, udp: 0 };
  for (const port of wanted) {
    let step = next[port.protocol];
    while (step < size && taken.has(portKey(port.protocol, portAt(step)))) step += 1;
    if (step >= size) return null;
    given.push({ ...port, externalPort: portAt(step) });
    next[port.protocol] = step + 1;
  }
  return given;
}

export function portKey(protocol: string, port: number): string {
  return `${protocol}:${port}`;
}
