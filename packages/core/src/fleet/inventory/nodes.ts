import { canTransition, machineStates, type GpuType, type MachineState } from '@millrace/contract';
import type { Actor, Mode } from '@millrace/platform/envelope';
import type { ClusterId, GpuId, NodeId, OrgId } from '@millrace/platform/ids';
import type { FleetGpuType } from './gpu-models.ts';

/** Nodes and the states they move between. Pure. */

export type OfferKind = 'virtual-machine' | 'bare-metal' | 'marketplace';
export type ConnectionType = 'ethernet' | 'infiniband';

export type GpuFormFactor = 'sxm5' | 'sxm6' | 'pcie';
export type GpuState = 'present' | 'missing' | 'faulty' | 'replaced';

/** What an offline node is again when it is back. */
export type ReturnStatus = 'node_registering' | 'node_ready' | 'node_draining';

/** A device as it is known. */
export interface GpuFacts {
  readonly id: GpuId;
  readonly pciAddress: string;
  readonly deviceUuid: string | null;
  readonly model: string;
  /** Null: a model that rentals do not offer. */
  readonly gpuType: GpuType | null;
  readonly ramMb: number | null;
  readonly numaNode: number | null;
  readonly state: GpuState;
}

export interface NodeGpu extends GpuFacts {
  readonly stateReason: string | null;
  /** The external id of the rental or instance that has it. */
  readonly allocatedTo: string | null;
}

export interface NodeRecord {
  readonly id: NodeId;
  readonly clusterId: ClusterId;
  readonly clusterName: string;
  readonly providerId: string;
  readonly region: string;
  readonly mode: Mode;
  readonly offer: OfferKind;
  readonly connectionType: ConnectionType;
  readonly supplierOrgId: OrgId | null;
  readonly name: string;
  readonly status: MachineState;
  readonly statusReason: string | null;
  readonly statusSince: Date;
  readonly backTo: ReturnStatus | null;
  readonly drainDeadlineAt: Date | null;
  readonly address: string | null;
  readonly cpuModel: string | null;
  readonly cpuCount: number | null;
  readonly ramMb: number | null;
  readonly storageGb: number | null;
  readonly gpuFormFactor: GpuFormFactor | null;
  /** What its GPUs are sold as; null: it is not sold. */
  readonly gpuType: FleetGpuType | null;
  readonly driverVersion: string | null;
  readonly cudaVersion: string | null;
  readonly hardwareReadAt: Date | null;
  readonly firstSeenAt: Date;
  /** When its engine last said that it can be reached. */
  readonly lastSeenAt: Date | null;
  readonly unreachableSince: Date | null;
  /** Whether something new could be placed on it if it has room. */
  readonly placeable: boolean;
  /** Rentals and instances that hold GPUs of it, also those whose release is not confirmed. */
  readonly liveAllocations: number;
  /** All but those that were replaced. */
  readonly gpus: readonly NodeGpu[];
}

/** A step between two states as it is written down. */
export interface NewNodeTransition {
  readonly nodeId: NodeId;
  readonly from: MachineState;
  readonly to: MachineState;
  /** Why, for the record of transitions. */
  readonly reason: string;
  /** What people read beside the state; null where there is nothing to say. */
  readonly statusReason: string | null;
  readonly backTo: ReturnStatus | null;
  readonly drainDeadlineAt: Date | null;
}

/** What a move depends on beside the table of states. */
export interface NodeCondition {
  readonly status: MachineState;
  readonly backTo: ReturnStatus | null;
  readonly hardwareRead: boolean;
  /** The engine reaches it, as far as anybody knows. */
  readonly reachable: boolean;
}

export type TransitionDecision =
  | { readonly kind: 'stay' }
  | { readonly kind: 'move'; readonly to: MachineState; readonly backTo: ReturnStatus | null }
  /** It stays offline and will be something else when it is back. */
  | { readonly kind: 'later'; readonly backTo: ReturnStatus }
  | { readonly kind: 'refused' };

/**
 * Where a node comes to stand when somebody wants it in a state. Not always there: who clears a quarantine does not
 * thereby reach a silent node, so it becomes offline first, and one that was never read registers first.
 */
export function decideTransition(node: NodeCondition, wanted: MachineState): TransitionDecision {
  if (node.status === 'node_offline') {
    if (node.reachable && wanted === node.backTo) return moveTo(node, wanted, null);
    if (wanted === 'node_ready' || wanted === 'node_draining') return deferredTransition(node, wanted);
  }
  if (node.status === wanted) return { kind: 'stay' };
  if (node.status === 'node_quarantined' && wanted === 'node_ready') {
    const back: ReturnStatus = node.hardwareRead ? 'node_ready' : 'node_registering';
    return node.reachable ? moveTo(node, back, null) : moveTo(node, 'node_offline', back);
  }
  return moveTo(node, wanted, wanted === 'node_offline' ? returnStatusOf(node.status) : null);
}

function moveTo(node: NodeCondition, to: MachineState, backTo: ReturnStatus | null): TransitionDecision {
  if (to === 'node_offline' && backTo === null) return { kind: 'refused' };
  // Nobody knows what it has, whoever wishes it: only a read makes it ready.
  if (to === 'node_ready' && !node.hardwareRead) return { kind: 'refused' };
  return canTransition(machineStates, node.status, to) ? { kind: 'move', to, backTo } : { kind: 'refused' };
}

function deferredTransition(node: NodeCondition, wanted: 'node_ready' | 'node_draining'): TransitionDecision {
  // It registers first when it is back, and nothing would remember that it was to be drained.
  if (wanted === 'node_draining' && !node.hardwareRead) return { kind: 'refused' };
  const backTo = node.hardwareRead ? wanted : 'node_registering';
  return node.backTo === backTo ? { kind: 'stay' } : { kind: 'later', backTo };
}

function returnStatusOf(status: MachineState): ReturnStatus | null {
  return status === 'node_registering' || status === 'node_ready' || status === 'node_draining'
    ? status
    : null;
}

/** What the owner of a machine is told when it comes into a state; null for states that only operators follow. */
export function ownerEventFor(
  to: MachineState,
): 'machine.ready' | 'machine.offline' | 'machine.quarantined' | null {
  if (to === 'node_ready') return 'machine.ready';
  if (to === 'node_offline') return 'machine.offline';
  return to === 'node_quarantined' ? 'machine.quarantined' : null;
}

/** How an actor is written in the record of transitions. */
export function actorText(actor: Actor): string {
  return `${actor.kind}:${actor.id}`.slice(0, 100);
}

export const syncActor: Actor = { kind: 'system', id: 'fleet-sync' };

const REASON_LENGTH = 1_000;

/** Texts from engines and people, as the columns take them. */
export function boundedReason(text: string): string {
  return boundedText(text, REASON_LENGTH) ?? 'no reason given';
}

/** A text of others in one line, at most this long; null when there is nothing in it. */
export function boundedText(text: string, longest: number): string | null {
  // PostgreSQL takes neither NUL nor half a character, and cutting makes halves.
  const clean = text
    .slice(0, 10 * longest)
    .replaceAll(/[\u0000-\u001f\u007f]+/g, ' ')
    .trim()
    .slice(0, longest)
    .toWellFormed();
  return clean === '' ? null : clean;
}
