import type { MachineState } from '@millrace/contract';
import type { NodeId } from '@millrace/platform/ids';
import type { ReportedGpu, ReportedHardware, ReportedNode } from './inventory.ts';
import { findGpuModel, isUnnamedModel, type FleetGpuType } from './gpu-models.ts';
import {
  boundedReason,
  type ReturnStatus,
  type GpuFacts,
  type GpuFormFactor,
  type GpuState,
  type NewNodeTransition,
  type OfferKind,
} from './nodes.ts';

/** Plans what an inventory changes of a node. Pure, and an unchanged report gives an empty plan. */

export interface StoredGpu extends GpuFacts {
  readonly sold: boolean;
}

/** Without GPUs: enough to decide whether an inventory changes anything. */
export interface StoredNode {
  readonly id: NodeId;
  readonly name: string;
  readonly status: MachineState;
  readonly statusReason: string | null;
  readonly backTo: ReturnStatus | null;
  readonly drainDeadlineAt: Date | null;
  readonly hardwareDigest: string | null;
  readonly unreachableSince: Date | null;
}

export interface StoredHardware extends StoredNode {
  /** Without replaced GPUs. */
  readonly gpus: readonly StoredGpu[];
}

export interface GpuChange extends Omit<GpuFacts, 'pciAddress'> {
  readonly stateReason: string | null;
}

export interface NodePlan {
  readonly nodeId: NodeId;
  /** Null if the hardware is unchanged. */
  readonly hardware: ReportedHardware | null;
  readonly formFactor: GpuFormFactor | null;
  /** Null if the node is not sold. */
  readonly gpuType: FleetGpuType | null;
  readonly gpuChanges: readonly GpuChange[];
  readonly newGpus: readonly ReportedGpu[];
  readonly move: NewNodeTransition | null;
  /** New status reason of a node whose status stays. Undefined if unchanged. */
  readonly note: string | null | undefined;
  /** Undefined if unchanged. */
  readonly unreachableSince: Date | null | undefined;
  /** The node was removed, and the engine has stopped listing it. */
  readonly isDelisted: boolean;
}

export interface ReadContext {
  readonly now: Date;
  readonly offer: OfferKind;
  /** Earlier misses do not count, because no observer polled in between. */
  readonly watchingSince: Date;
}

const NOT_LISTED = 'The cluster no longer reports the server. Check its power and network';

/** Whether an inventory changes a node. Cheap, because it does not compare GPUs. */
export function isChangedBy(known: StoredNode, seen: ReportedNode | undefined, read: ReadContext): boolean {
  if (known.status === 'node_removed') return seen === undefined;
  if (seen !== undefined && seen.hardware !== null) {
    return (
      known.unreachableSince !== null ||
      known.hardwareDigest !== seen.hardware.digest ||
      known.status === 'node_offline' ||
      known.status === 'node_registering'
    );
  }
  return firstMissAt(known, read) !== undefined || offlineTransition(known, seen, read) !== null;
}

export function planNode(known: StoredHardware, seen: ReportedNode | undefined, read: ReadContext): NodePlan {
  if (known.status === 'node_removed') return { ...unchangedPlan(known), isDelisted: seen === undefined };
  if (seen === undefined || seen.hardware === null) {
    return {
      ...unchangedPlan(known),
      unreachableSince: firstMissAt(known, read),
      move: offlineTransition(known, seen, read),
    };
  }
  const hardware = { ...seen.hardware, gpus: keepIdentity(known.gpus, seen.hardware.gpus) };
  const gpus = known.hardwareDigest === hardware.digest ? noChange : compareGpus(known.gpus, hardware.gpus);
  const digest = gpus.isSettled ? hardware.digest : `unsettled:${hardware.digest}`;
  const note = statusNote(known.gpus, gpus, hardware, read.offer);
  const move = returnTransition(known, gpus.lost, note);
  return {
    ...unchangedPlan(known),
    hardware: known.hardwareDigest === digest ? null : { ...hardware, digest },
    ...soldAs(hardware.gpus, read.offer),
    gpuChanges: gpus.changes,
    newGpus: gpus.added,
    move,
    note: move === null && known.status === 'node_ready' && note !== known.statusReason ? note : undefined,
    unreachableSince: known.unreachableSince === null ? undefined : null,
  };
}

function unchangedPlan(known: StoredNode): NodePlan {
  return {
    nodeId: known.id,
    hardware: null,
    formFactor: null,
    gpuType: null,
    gpuChanges: [],
    newGpus: [],
    move: null,
    note: undefined,
    unreachableSince: undefined,
    isDelisted: false,
  };
}

/** Time of the first consecutive miss; undefined if it stays as stored. */
function firstMissAt(known: StoredNode, { now, watchingSince }: ReadContext): Date | undefined {
  const counts = known.unreachableSince !== null && known.unreachableSince >= watchingSince;
  const settled = known.status === 'node_offline' || known.status === 'node_quarantined';
  return counts || (settled && known.unreachableSince !== null) ? undefined : now;
}

/** Two consecutive misses make a node offline. A registering node with an implausible report is quarantined. */
function offlineTransition(
  known: StoredNode,
  seen: ReportedNode | undefined,
  read: ReadContext,
): NewNodeTransition | null {
  const { status } = known;
  if (status === 'node_offline' || status === 'node_quarantined' || status === 'node_removed') return null;
  const reason = seen?.problem ?? NOT_LISTED;
  if (status === 'node_registering' && seen?.implausible === true)
    return transitionOf(known, 'node_quarantined', reason);
  const { unreachableSince } = known;
  const missedBefore =
    unreachableSince !== null && unreachableSince >= read.watchingSince && unreachableSince < read.now;
  return missedBefore ? { ...transitionOf(known, 'node_offline', reason), backTo: status } : null;
}

/** The transition of a node that is reachable with plausible hardware. */
function returnTransition(
  known: StoredNode,
  lost: readonly StoredGpu[],
  note: string | null,
): NewNodeTransition | null {
  const { status } = known;
  if (lost.length > 0 && status !== 'node_quarantined') {
    return transitionOf(
      known,
      'node_quarantined',
      boundedReason(`Rented GPUs are missing: ${addresses(lost)}`),
    );
  }
  if (status === 'node_registering') {
    return { ...transitionOf(known, 'node_ready', 'The hardware was read'), statusReason: note };
  }
  if (status !== 'node_offline') return null;
  // The offline reason has replaced the original reason of the drain.
  const [to, statusReason] =
    known.backTo === 'node_draining'
      ? (['node_draining', 'The node is reachable again and still draining'] as const)
      : (['node_ready', note] as const);
  return { ...transitionOf(known, to, 'The node is reachable again'), statusReason };
}

function transitionOf(known: StoredNode, to: MachineState, reason: string): NewNodeTransition {
  const draining = known.status === 'node_draining' || known.backTo === 'node_draining';
  const drainDeadlineAt =
    draining && (to === 'node_draining' || to === 'node_offline') ? known.drainDeadlineAt : null;
  const { id: nodeId, status: from } = known;
  return { nodeId, from, to, reason, statusReason: reason, backTo: null, drainDeadlineAt };
}

interface GpuComparison {
  readonly changes: readonly GpuChange[];
  readonly added: readonly ReportedGpu[];
  /** Allocated GPUs that are missing. */
  readonly lost: readonly StoredGpu[];
  /** False if another device is at the address of an allocated GPU. The next poll compares again. */
  readonly isSettled: boolean;
}

const noChange: GpuComparison = { changes: [], added: [], lost: [], isSettled: true };

/** Engines might not report UUID and model of a GPU that a machine uses, so the GPU keeps its stored identity. */
function keepIdentity(known: readonly StoredGpu[], seen: readonly ReportedGpu[]): readonly ReportedGpu[] {
  const sold = new Map(known.flatMap((gpu) => (gpu.sold ? [[gpu.pciAddress, gpu] as const] : [])));
  return seen.map((gpu) => {
    const old = sold.get(gpu.pciAddress);
    if (old === undefined || gpu.deviceUuid !== null || !isUnnamedModel(gpu.model)) return gpu;
    const { model, gpuType, ramMb } = old;
    return { ...gpu, model, gpuType, ramMb, formFactor: findGpuModel(model)?.formFactor ?? null };
  });
}

/**
 * Identifies GPUs by address; another device at an address is another GPU. Machines get what is at an address, so a new
 * device at the address of an allocated GPU is not for sale until the GPU is released.
 */
export function compareGpus(known: readonly StoredGpu[], seen: readonly ReportedGpu[]): GpuComparison {
  const before = new Map(known.map((gpu) => [gpu.pciAddress, gpu]));
  const changes: GpuChange[] = [];
  const added: ReportedGpu[] = [];
  const lost: StoredGpu[] = [];
  let isSettled = true;
  for (const gpu of seen) {
    const old = before.get(gpu.pciAddress);
    before.delete(gpu.pciAddress);
    if (old === undefined) added.push(gpu);
    else if (isDifferentDevice(old, gpu)) {
      const reason = `Another device is at this address: ${gpu.model}`;
      if (old.sold) {
        isSettled = false;
        if (old.state !== 'present') continue;
        changes.push(stateChange(old, 'missing', reason));
        lost.push(old);
      } else {
        changes.push(stateChange(old, 'replaced', reason));
        added.push(gpu);
      }
    } else {
      const change = refreshedGpu(old, gpu);
      if (change !== null) changes.push(change);
    }
  }
  for (const old of before.values()) {
    if (old.state !== 'present') continue;
    changes.push(stateChange(old, 'missing', 'The engine no longer lists the GPU'));
    if (old.sold) lost.push(old);
  }
  return { changes, added, lost, isSettled };
}

/** Compares UUIDs if both are known, otherwise GPU types, because one type has several model names. */
function isDifferentDevice(old: StoredGpu, seen: ReportedGpu): boolean {
  if (old.deviceUuid !== null && seen.deviceUuid !== null) return old.deviceUuid !== seen.deviceUuid;
  const areTyped = old.gpuType !== null && seen.gpuType !== null;
  return areTyped ? old.gpuType !== seen.gpuType : old.model !== seen.model;
}

function stateChange(old: StoredGpu, state: GpuState, stateReason: string | null): GpuChange {
  const { id, deviceUuid, model, gpuType, ramMb, numaNode } = old;
  return { id, state, stateReason, deviceUuid, model, gpuType, ramMb, numaNode };
}

/** Updates the stored facts of the same device. A faulty GPU stays faulty. */
function refreshedGpu(old: StoredGpu, seen: ReportedGpu): GpuChange | null {
  const deviceUuid = seen.deviceUuid ?? old.deviceUuid;
  const { model, gpuType, ramMb, numaNode } = seen;
  const back = old.state === 'missing';
  const facts = { deviceUuid, model, gpuType, ramMb, numaNode };
  const same = Object.entries(facts).every(([name, value]) => value === old[name as keyof typeof facts]);
  if (same && !back) return null;
  return { ...stateChange(old, back ? 'present' : old.state, null), ...facts };
}

/** Nodes with mixed GPU types are not sold. The marketplace names the model, so it sells any single model. */
export function soldAs(
  gpus: readonly ReportedGpu[],
  offer: OfferKind,
): Pick<NodePlan, 'gpuType' | 'formFactor'> {
  const [first] = gpus;
  const alike =
    first !== undefined &&
    gpus.every((gpu) => gpu.gpuType === first.gpuType && gpu.formFactor === first.formFactor);
  if (!alike) return { gpuType: null, formFactor: null };
  const { gpuType, formFactor, model } = first;
  const isOther = gpuType === null && offer === 'marketplace' && gpus.every((gpu) => gpu.model === model);
  return { gpuType: isOther ? 'other' : gpuType, formFactor };
}

/** The status reason of a ready node; null if everything is normal. */
export function statusNote(
  known: readonly StoredGpu[],
  comparison: Pick<GpuComparison, 'changes'>,
  hardware: ReportedHardware,
  offer: OfferKind,
): string | null {
  const states = new Map(comparison.changes.map((change) => [change.id, change.state]));
  const absent = known.filter((gpu) => {
    const state = states.get(gpu.id) ?? gpu.state;
    return state === 'missing' || state === 'faulty';
  });
  if (absent.length > 0) {
    const faulty = new Set(absent.filter((gpu) => gpu.state === 'faulty').map((gpu) => gpu.pciAddress));
    const missing = absent.length - faulty.size;
    const absentAddresses = new Set(absent.map((gpu) => gpu.pciAddress));
    const present = hardware.gpus.filter((gpu) => !absentAddresses.has(gpu.pciAddress)).length;
    return `${present} of ${present + absent.length} GPUs: ${missing} missing, ${faulty.size} faulty (${addresses(absent)})`;
  }
  if (hardware.gpus.length === 0) return 'It has no GPUs';
  if (soldAs(hardware.gpus, offer).gpuType !== null) return null;
  const [first] = hardware.gpus;
  return hardware.gpus.every((gpu) => gpu.model === first?.model)
    ? `Rentals do not offer its GPUs: ${first?.model ?? ''}`
    : 'Its GPUs are not all of one kind, so it is not rented out';
}

function addresses(gpus: readonly { readonly pciAddress: string }[]): string {
  return gpus
    .map((gpu) => gpu.pciAddress)
    .toSorted()
    .join(', ');
}

/** A node that is new in the inventory, with its first transitions. */
export interface NewNode {
  readonly name: string;
  readonly status: MachineState;
  readonly statusReason: string | null;
  readonly steps: readonly { readonly to: MachineState; readonly reason: string }[];
  readonly hardware: ReportedHardware | null;
  readonly formFactor: GpuFormFactor | null;
  readonly gpuType: FleetGpuType | null;
  readonly unreachableSince: Date | null;
}

export function planNewNode(seen: ReportedNode, { now, offer }: Pick<ReadContext, 'now' | 'offer'>): NewNode {
  const { name, hardware } = seen;
  const first = { to: 'node_registering', reason: 'The engine listed the node for the first time' } as const;
  if (hardware !== null) {
    const statusReason = statusNote([], noChange, hardware, offer);
    const second = { to: 'node_ready', reason: 'The hardware was read' } as const;
    const sale = { hardware, ...soldAs(hardware.gpus, offer), unreachableSince: null };
    return { name, status: 'node_ready', statusReason, steps: [first, second], ...sale };
  }
  const unread = { hardware, formFactor: null, gpuType: null, unreachableSince: now };
  const nothing = { name, statusReason: seen.problem, ...unread };
  if (!seen.implausible) return { ...nothing, status: 'node_registering', steps: [first] };
  const second = { to: 'node_quarantined', reason: seen.problem } as const;
  return { ...nothing, status: 'node_quarantined', steps: [first, second] };
}
