import type { Tx } from '@millrace/platform/db';
import { toUuid, type NodeId, type OrgId } from '@millrace/platform/ids';
import {
  findNodes,
  MB_PER_GB,
  shareOfNode,
  type NodeRecord,
  type OfferKind,
  type PlacedNode,
  type Placement,
  type PlacementRequest,
} from '../../fleet/index.ts';
import { SSH_PORT, type NewMachine, type Rental, type RentalKind } from '../model/rental.ts';

/** Builds the placement request of a rental and the machines of a placement, for the first attempt and for moves. */

export const offerByKind: Readonly<Record<RentalKind, OfferKind>> = {
  'virtual-machine': 'virtual-machine',
  'bare-metal': 'bare-metal',
  instance: 'marketplace',
};

/** The fields that placement needs, also before the rental is stored. */
export type Placeable = Pick<
  Rental,
  | 'id'
  | 'orgId'
  | 'mode'
  | 'kind'
  | 'region'
  | 'gpuType'
  | 'connectionType'
  | 'cuda'
  | 'gpusPerNode'
  | 'nodeCount'
  | 'customPorts'
>;

export function toPlacementRequest(
  rental: Placeable,
  options: {
    readonly except?: readonly NodeId[];
    readonly only?: NodeId | null;
    readonly freesAt: Date | null;
  },
): PlacementRequest {
  return {
    orgId: rental.orgId,
    externalId: toUuid(rental.id),
    holder: rental.kind === 'instance' ? 'instance' : 'rental',
    mode: rental.mode,
    offer: offerByKind[rental.kind],
    region: rental.region,
    gpuType: rental.gpuType,
    connectionType: rental.connectionType,
    cuda: rental.cuda,
    gpusPerNode: rental.gpusPerNode,
    nodeCount: rental.nodeCount,
    except: options.except ?? [],
    only: options.only ?? null,
    ports: requestedPortsOf(rental),
    freesAt: options.freesAt,
  };
}

function requestedPortsOf({ customPorts }: Pick<Placeable, 'customPorts'>): PlacementRequest['ports'] {
  return [SSH_PORT, ...customPorts.filter((port) => port !== SSH_PORT)].map((internalPort) => ({
    internalPort,
    protocol: 'tcp',
  }));
}

/** Without mapped ports the machine has its own address, where each port keeps its number. */
export function machinePortsOf(
  rental: Pick<Placeable, 'customPorts'>,
  { ports }: Pick<PlacedNode, 'ports'>,
): PlacedNode['ports'] {
  if (ports.length > 0) return ports;
  return requestedPortsOf(rental).map((port) => ({ ...port, externalPort: port.internalPort }));
}

export function machineSizeOf(
  node: NodeRecord,
  gpus: number,
): Pick<NewMachine, 'cpuCount' | 'ramMb' | 'diskGb'> {
  const share = shareOfNode(
    {
      cpuCount: node.cpuCount ?? 0,
      ramMb: node.ramMb ?? 0,
      storageGb: node.storageGb ?? 0,
      gpusTotal: node.gpus.length,
    },
    gpus,
  );
  // A host may have fewer CPUs than GPUs, but a machine needs at least one of each.
  return {
    cpuCount: Math.max(1, share.vcpuCount),
    ramMb: Math.max(1, share.ramGb) * MB_PER_GB,
    diskGb: Math.max(1, share.storageGb),
  };
}

function machineForNode(
  tx: Tx,
  rental: Placeable,
  attempt: number,
  placement: Placement,
  { node, ...placed }: PlacedNode & { readonly position: number; readonly node: NodeRecord },
): NewMachine {
  const isFirst = attempt === 1 && placed.position === 1;
  return {
    rentalId: rental.id,
    attempt,
    position: placed.position,
    orgId: rental.orgId,
    mode: rental.mode,
    externalId: isFirst ? toUuid(rental.id) : tx.ids.nextUuid(),
    allocationId: placement.allocationId,
    clusterId: node.clusterId,
    nodeId: placed.nodeId,
    gpuAddresses: placed.gpus.map(({ pciAddress }) => pciAddress),
    ports: machinePortsOf(rental, placed),
    ...machineSizeOf(node, placed.gpus.length),
  };
}

export interface PlacedMachines {
  readonly providerId: string;
  readonly machines: readonly NewMachine[];
}

/** Machines of a placement, to be stored in the transaction that made it. */
export async function machinesOfPlacement(
  tx: Tx,
  orgId: OrgId,
  rental: Placeable,
  attempt: number,
  placement: Placement,
): Promise<PlacedMachines> {
  if (rental.orgId !== orgId) throw new Error(`Rental ${rental.id} does not belong to ${orgId}.`);
  const nodes = await findNodes(
    tx,
    placement.nodes.map(({ nodeId }) => nodeId),
  );
  let providerId = '';
  const machines = placement.nodes.map((placed, index) => {
    const node = nodes.get(placed.nodeId);
    if (node === undefined) throw new Error(`Node ${placed.nodeId} of the placement does not exist.`);
    // A gang is on one fabric, so on one cluster and one provider.
    ({ providerId } = node);
    return machineForNode(tx, rental, attempt, placement, { ...placed, node, position: index + 1 });
  });
  return { providerId, machines };
}
