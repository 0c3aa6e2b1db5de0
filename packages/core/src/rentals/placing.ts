import type { Tx } from '@millrace/platform/db';
import { toUuid, type NodeId, type OrgId } from '@millrace/platform/ids';
import {
  findNode,
  MB_OF_A_GB,
  shareOfNode,
  type NodeRecord,
  type Offer,
  type PlacedNode,
  type Placement,
  type PlacementWish,
} from '../fleet/index.ts';
import type { NewMachine } from './machines.store.ts';
import type { Rental, RentalKind } from './rental.ts';

/** What a rental asks of placement, and the machines that a placement becomes. For the first attempt and for each move. */

export const SSH_PORT = 22;

/** What the machines of each kind are sold as. */
export const offers: Readonly<Record<RentalKind, Offer>> = {
  'virtual-machine': 'virtual-machine',
  'bare-metal': 'bare-metal',
  instance: 'marketplace',
};

/** What placement needs to know of a rental that may not have been written yet. */
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

export function placementWishOf(
  rental: Placeable,
  options: {
    readonly except?: readonly NodeId[];
    readonly only?: NodeId | null;
    readonly freesAt: Date | null;
  },
): PlacementWish {
  return {
    orgId: rental.orgId,
    externalId: toUuid(rental.id),
    holder: rental.kind === 'instance' ? 'instance' : 'rental',
    mode: rental.mode,
    offer: offers[rental.kind],
    region: rental.region,
    gpuType: rental.gpuType,
    connectionType: rental.connectionType,
    cuda: rental.cuda,
    gpusPerNode: rental.gpusPerNode,
    nodeCount: rental.nodeCount,
    except: options.except ?? [],
    only: options.only ?? null,
    ports: [SSH_PORT, ...rental.customPorts.filter((port) => port !== SSH_PORT)].map((internalPort) => ({
      internalPort,
      protocol: 'tcp',
    })),
    freesAt: options.freesAt,
  };
}

/** A machine's part of its node, in the sizes that engines are asked for. */
export function sizeOf(node: NodeRecord, gpus: number): Pick<NewMachine, 'cpuCount' | 'ramMb' | 'diskGb'> {
  const share = shareOfNode(
    {
      cpuCount: node.cpuCount ?? 0,
      ramMb: node.ramMb ?? 0,
      storageGb: node.storageGb ?? 0,
      gpusTotal: node.gpus.length,
    },
    gpus,
  );
  // A host may have fewer CPUs than GPUs; a machine needs one of everything all the same.
  return {
    cpuCount: Math.max(1, share.vcpuCount),
    ramMb: Math.max(1, share.ramGb) * MB_OF_A_GB,
    diskGb: Math.max(1, share.storageGb),
  };
}

async function machineOn(
  tx: Tx,
  rental: Placeable,
  attempt: number,
  placement: Placement,
  placed: PlacedNode & { readonly position: number },
): Promise<NewMachine & { readonly providerId: string }> {
  const node = await findNode(tx, placed.nodeId);
  if (node === null) throw new Error(`Node ${placed.nodeId} was placed on and is not there.`);
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
    ports: placed.ports,
    ...sizeOf(node, placed.gpus.length),
    providerId: node.providerId,
  };
}

export interface PlacedMachines {
  readonly providerId: string;
  readonly machines: readonly NewMachine[];
}

/** The machines that stand for a placement, to be written in the transaction that made it. */
export async function machinesOfPlacement(
  tx: Tx,
  orgId: OrgId,
  rental: Placeable,
  attempt: number,
  placement: Placement,
): Promise<PlacedMachines> {
  if (rental.orgId !== orgId) throw new Error(`Rental ${rental.id} is not of ${orgId}.`);
  const machines: NewMachine[] = [];
  let providerId = '';
  for (const [index, placed] of placement.nodes.entries()) {
    const { providerId: provider, ...machine } = await machineOn(tx, rental, attempt, placement, {
      ...placed,
      position: index + 1,
    });
    providerId = provider;
    machines.push(machine);
  }
  return { providerId, machines };
}
