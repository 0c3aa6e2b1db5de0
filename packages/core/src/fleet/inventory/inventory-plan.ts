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

/** What a read changes of a node. Pure: the same facts give the same plan, and known facts give none. */

export interface StoredGpu extends GpuFacts {
  readonly sold: boolean;
}

/** A node as it stands, without its GPUs: enough to tell whether a read changes anything. */
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
  /** All but those that were replaced. */
  readonly gpus: readonly StoredGpu[];
}

export interface GpuChange extends Omit<GpuFacts, 'pciAddress'> {
  readonly stateReason: string | null;
}

export interface NodePlan {
  readonly nodeId: NodeId;
  /** New hardware to write; null: as it was. */
  readonly hardware: ReportedHardware | null;
  readonly formFactor: GpuFormFactor | null;
  /** What its GPUs are sold as; null: it is not sold. */
  readonly gpuType: FleetGpuType | null;
  readonly gpuChanges: readonly GpuChange[];
  readonly newGpus: readonly ReportedGpu[];
  readonly move: NewNodeTransition | null;
  /** What people read beside a state that stays. Undefined: as it was. */
  readonly note: string | null | undefined;
  /** Undefined: as it was. */
  readonly unreachableSince: Date | null | undefined;
  /** A removed node that the engine no longer lists. */
  readonly isDelisted: boolean;
}

export interface ReadContext {
  readonly now: Date;
  /** What the machines of its cluster are sold as. */
  readonly offer: OfferKind;
  /** Misses from before are not counted: nobody was looking in between. */
  readonly watchingSince: Date;
}

const NOT_LISTED = 'The engine no longer lists it';

/** Whether a read changes anything of a node. Cheap: nothing of its GPUs is looked at. */
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

/** What the read changes of a node that is known. */
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

/** The time of the first miss in a row; undefined where it stays as it is. */
function firstMissAt(known: StoredNode, { now, watchingSince }: ReadContext): Date | undefined {
  const counts = known.unreachableSince !== null && known.unreachableSince >= watchingSince;
  const settled = known.status === 'node_offline' || known.status === 'node_quarantined';
  return counts || (settled && known.unreachableSince !== null) ? undefined : now;
}

/** A node that is missed twice in a row is offline. One that never passed its checks is for a person to look at. */
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

/** What a node becomes that the engine reaches and whose hardware can be believed. */
function returnTransition(
  known: StoredNode,
  lost: readonly StoredGpu[],
  note: string | null,
): NewNodeTransition | null {
  const { status } = known;
  if (lost.length > 0 && status !== 'node_quarantined') {
    return transitionOf(known, 'node_quarantined', boundedReason(`Rented GPUs are gone: ${addresses(lost)}`));
  }
  if (status === 'node_registering') {
    return { ...transitionOf(known, 'node_ready', 'Its hardware was read'), statusReason: note };
  }
  if (status !== 'node_offline') return null;
  // Why it drains was said when it was asked to, and is not known any more beside why it was away.
  const [to, statusReason] =
    known.backTo === 'node_draining'
      ? (['node_draining', 'It is back and still draining'] as const)
      : (['node_ready', note] as const);
  return { ...transitionOf(known, to, 'It is back'), statusReason };
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
  /** Sold, and not there any more. */
  readonly lost: readonly StoredGpu[];
  /** False: something is at the address of a GPU that is sold, and waits until it is not. The next read looks again. */
  readonly isSettled: boolean;
}

const noChange: GpuComparison = { changes: [], added: [], lost: [], isSettled: true };

/**
 * While a machine has a GPU the driver of its host does not, and the engine may tell neither its id nor its name. What
 * is sold and still at its address is then what it was.
 */
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
 * GPUs are told apart by their address; another device at an address is another GPU. A machine is given what is at an
 * address, so while one has it nobody else can be sold what is there now.
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
      const reason = `Another device is at its address: ${gpu.model}`;
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
    changes.push(stateChange(old, 'missing', 'The engine no longer lists it'));
    if (old.sold) lost.push(old);
  }
  return { changes, added, lost, isSettled };
}

/** By the maker's id where both are known; otherwise by what it is sold as, for which there are several names. */
function isDifferentDevice(old: StoredGpu, seen: ReportedGpu): boolean {
  if (old.deviceUuid !== null && seen.deviceUuid !== null) return old.deviceUuid !== seen.deviceUuid;
  const areTyped = old.gpuType !== null && seen.gpuType !== null;
  return areTyped ? old.gpuType !== seen.gpuType : old.model !== seen.model;
}

function stateChange(old: StoredGpu, state: GpuState, stateReason: string | null): GpuChange {
  const { id, deviceUuid, model, gpuType, ramMb, numaNode } = old;
  return { id, state, stateReason, deviceUuid, model, gpuType, ramMb, numaNode };
}

/** The same device with what is known of it now. One that somebody took out as faulty stays out. */
function refreshedGpu(old: StoredGpu, seen: ReportedGpu): GpuChange | null {
  const deviceUuid = seen.deviceUuid ?? old.deviceUuid;
  const { model, gpuType, ramMb, numaNode } = seen;
  const back = old.state === 'missing';
  const facts = { deviceUuid, model, gpuType, ramMb, numaNode };
  const same = Object.entries(facts).every(([name, value]) => value === old[name as keyof typeof facts]);
  if (same && !back) return null;
  return { ...stateChange(old, back ? 'present' : old.state, null), ...facts };
}

/**
 * One kind of GPU makes a node that can be sold. Placement chooses by the node, so a mixture cannot be. On the marketplace
 * tenants choose a machine by its record, which names the model, so there any model will do.
 */
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

/** What is worth saying of a node that works; null: nothing. */
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

/** A node that is seen for the first time, with the steps it takes at once. */
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
  const first = { to: 'node_registering', reason: 'The engine listed it for the first time' } as const;
  if (hardware !== null) {
    const statusReason = statusNote([], noChange, hardware, offer);
    const second = { to: 'node_ready', reason: 'Its hardware was read' } as const;
    const sale = { hardware, ...soldAs(hardware.gpus, offer), unreachableSince: null };
    return { name, status: 'node_ready', statusReason, steps: [first, second], ...sale };
  }
  const unread = { hardware, formFactor: null, gpuType: null, unreachableSince: now };
  const nothing = { name, statusReason: seen.problem, ...unread };
  if (!seen.implausible) return { ...nothing, status: 'node_registering', steps: [first] };
  const second = { to: 'node_quarantined', reason: seen.problem } as const;
  return { ...nothing, status: 'node_quarantined', steps: [first, second] };
}
