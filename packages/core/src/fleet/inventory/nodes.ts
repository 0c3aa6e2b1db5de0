import { canTransition, machineStates, type GpuType, type MachineState } from '@millrace/contract';
import type { Actor, Mode } from '@millrace/platform/envelope';
import type { ClusterId, GpuId, NodeId, OrgId } from '@millrace/platform/ids';
import type { FleetGpuType } from './gpu-models.ts';

/** Node records and the pure rules for transitions between node states. */

export type OfferKind = 'virtual-machine' | 'bare-metal' | 'marketplace';
export type ConnectionType = 'ethernet' | 'infiniband';

export type GpuFormFactor = 'sxm5' | 'sxm6' | 'pcie';
export type GpuState = 'present' | 'missing' | 'faulty' | 'replaced';

export type ReturnStatus = 'node_registering' | 'node_ready' | 'node_draining';

export interface GpuFacts {
  readonly id: GpuId;
  readonly pciAddress: string;
  readonly deviceUuid: string | null;
  readonly model: string;
  /** Null if rentals do not offer this model. */
  readonly gpuType: GpuType | null;
  readonly ramMb: number | null;
  readonly numaNode: number | null;
  readonly state: GpuState;
}

export interface NodeGpu extends GpuFacts {
  readonly stateReason: string | null;
  /** External id of the rental or instance that the GPU is allocated to. */
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
  /** The GPU type that the node is sold as; null if the node is not sold. */
  readonly gpuType: FleetGpuType | null;
  readonly driverVersion: string | null;
  readonly cudaVersion: string | null;
  readonly hardwareReadAt: Date | null;
  readonly firstSeenAt: Date;
  /** Last time at which the engine reported the node as reachable. */
  readonly lastSeenAt: Date | null;
  readonly unreachableSince: Date | null;
  /** Whether the node accepts placements, apart from free GPUs. */
  readonly placeable: boolean;
  /** Includes allocations whose release is not confirmed. */
  readonly liveAllocations: number;
  /** Without replaced GPUs. */
  readonly gpus: readonly NodeGpu[];
}

export interface NewNodeTransition {
  readonly nodeId: NodeId;
  readonly from: MachineState;
  readonly to: MachineState;
  readonly reason: string;
  /** Shown beside the status. */
  readonly statusReason: string | null;
  readonly backTo: ReturnStatus | null;
  readonly drainDeadlineAt: Date | null;
}

export interface NodeCondition {
  readonly status: MachineState;
  readonly backTo: ReturnStatus | null;
  readonly hardwareRead: boolean;
  /** Whether the engine reached the node when it was last polled. */
  readonly reachable: boolean;
}

export type TransitionDecision =
  | { readonly kind: 'stay' }
  | { readonly kind: 'move'; readonly to: MachineState; readonly backTo: ReturnStatus | null }
  /** The node stays offline; only its return status changes. */
  | { readonly kind: 'later'; readonly backTo: ReturnStatus }
  | { readonly kind: 'refused' };

/**
 * Decides the transition for a requested state. The result may be another state: a node released from quarantine
 * becomes offline while it is unreachable, and registers first if its hardware was never read.
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
  // The hardware is unknown until an inventory contained it, so no request can make the node ready.
  if (to === 'node_ready' && !node.hardwareRead) return { kind: 'refused' };
  return canTransition(machineStates, node.status, to) ? { kind: 'move', to, backTo } : { kind: 'refused' };
}

function deferredTransition(node: NodeCondition, wanted: 'node_ready' | 'node_draining'): TransitionDecision {
  // The node registers first when it returns, and the drain request would be lost.
  if (wanted === 'node_draining' && !node.hardwareRead) return { kind: 'refused' };
  const backTo = node.hardwareRead ? wanted : 'node_registering';
  return node.backTo === backTo ? { kind: 'stay' } : { kind: 'later', backTo };
}

function returnStatusOf(status: MachineState): ReturnStatus | null {
  return status === 'node_registering' || status === 'node_ready' || status === 'node_draining'
    ? status
    : null;
}

/** The event for the machine's supplier; null for states that only operators follow. */
export function ownerEventFor(
  to: MachineState,
): 'machine.ready' | 'machine.offline' | 'machine.quarantined' | null {
  if (to === 'node_ready') return 'machine.ready';
  if (to === 'node_offline') return 'machine.offline';
  return to === 'node_quarantined' ? 'machine.quarantined' : null;
}

export function actorText(actor: Actor): string {
  return `${actor.kind}:${actor.id}`.slice(0, 100);
}

export const syncActor: Actor = { kind: 'system', id: 'fleet-sync' };

const REASON_LENGTH = 1_000;

/** Fits text from engines and users to the reason columns. */
export function boundedReason(text: string): string {
  return boundedText(text, REASON_LENGTH) ?? 'no reason given';
}

/** Reduces external text to one line of limited length; null if nothing remains. */
export function boundedText(text: string, longest: number): string | null {
  // PostgreSQL rejects NUL and lone surrogates, and slicing can create lone surrogates.
  const clean = text
    .slice(0, 10 * longest)
    .replaceAll(/[\u0000-\u001f\u007f]+/g, ' ')
    .trim()
    .slice(0, longest)
    .toWellFormed();
  return clean === '' ? null : clean;
}
