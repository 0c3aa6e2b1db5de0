import type { Mode } from '@millrace/platform/envelope';
import type { AllocationId, FabricId, GpuId, NodeId, OrgId } from '@millrace/platform/ids';
import type { FleetGpuType } from '../inventory/gpu-models.ts';
import type { ConnectionType, OfferKind } from '../inventory/nodes.ts';

/** Chooses the fabric, GPUs and ports of a placement. Pure: the same input gives the same choice. */

/** All fields are matched exactly except `cuda`, which is a minimum. */
export interface PlacementRequirements {
  readonly mode: Mode;
  readonly offer: OfferKind;
  readonly region: string;
  readonly gpuType: FleetGpuType;
  readonly connectionType: ConnectionType;
  /** Encoded as a number: 12.8 is 1208. */
  readonly cuda: number | null;
  readonly gpusPerNode: number;
  /** More than one is a gang: whole nodes of one fabric, all or none. */
  readonly nodeCount: number;
  /** Nodes that failed in an earlier attempt or must be avoided. */
  readonly except: readonly NodeId[];
  /** The node that a marketplace tenant chose; null for any. */
  readonly only: NodeId | null;
}

export interface PlacementRequest extends PlacementRequirements {
  readonly orgId: OrgId;
  readonly externalId: string;
  readonly holder: 'rental' | 'instance';
  /** Ports of the machine to publish at the node's address. */
  readonly ports: readonly RequestedPort[];
  /** Expected end, if known. */
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
  /** Empty if machines have their own address: then each port keeps its number. */
  readonly ports: readonly AssignedPort[];
}

export interface PlacedGpu {
  readonly gpuId: GpuId;
  readonly pciAddress: string;
}

/** `idleNodes` is counted only up to a limit. */
export interface FabricCandidate {
  readonly fabricId: FabricId;
  readonly idleNodes: number;
  readonly turn: number;
}

/** Fabrics that fit the gang, smallest first, so that large fabrics stay free for large gangs. */
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
 * Chooses the GPUs of one NUMA node if one has enough, the one with the fewest; otherwise as few NUMA nodes as
 * possible, fullest first. Returns null if too few GPUs are free.
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
 * Chooses the first free ports of each protocol from `start`, wrapping around; null if too few are free. A random start
 * avoids reusing a port that was just released: hostnames and firewalls may still refer to its previous tenant.
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
