import type { Tx } from '@millrace/platform/db';
import { Fault, invalidField } from '@millrace/platform/fault';
import type { NodeId } from '@millrace/platform/ids';
import type { NanoUsd } from '@millrace/platform/money';
import {
  findNode,
  releaseFromWindows,
  lockCapacity,
  transitionNode,
  removeCluster,
} from '../../fleet/index.ts';
import {
  appendAuditEntry,
  authorizeCaller,
  type AuditContext,
  type CallContext,
} from '../../identity/index.ts';
import { problemWithPrice, nextRecentPrice, type PriceRules, type SupplierMachine } from './machines.ts';
import {
  findAnyMachine,
  lockMachine,
  setApproval,
  setDrained,
  setMachineListing,
  setWithdrawn,
} from './machines.store.ts';
import { requireApprovedSupplier } from '../account/suppliers.service.ts';

/** Actions of suppliers and operators on machines. Lock order: organisation, supplier, machine, then the fleet's rows. */

/** One error for machines that are absent, of another supplier or not enrolled. */
export function machineNotFound(): Fault {
  return new Fault('MACHINE_NOT_FOUND', {
    message: 'The machine does not exist.',
    suggestion: 'List the machines and use an id from the list.',
  });
}

async function lockOwnMachine(tx: Tx, call: CallContext, nodeId: NodeId): Promise<SupplierMachine> {
  const machine = await lockMachine(tx, call.orgId, nodeId);
  const isHere = machine !== null && (machine.stage === 'testing' || machine.stage === 'enrolled');
  if (!isHere) throw machineNotFound();
  return machine;
}

export interface MachineListingChange {
  readonly listed?: boolean;
  readonly pricePerGpuHour?: NanoUsd;
}

/** Sets price and listing. Rentals keep their price; a raise applies to new rentals after a minute. */
export async function updateMachine(
  tx: Tx,
  call: CallContext,
  nodeId: NodeId,
  change: MachineListingChange,
  rules: PriceRules,
): Promise<void> {
  await authorizeCaller(tx, call, 'supplier:write');
  // A suspended supplier may still unlist a machine.
  if (change.listed === true || change.pricePerGpuHour !== undefined)
    await requireApprovedSupplier(tx, call.orgId);
  const machine = await lockOwnMachine(tx, call, nodeId);
  const { listed = machine.listed, pricePerGpuHour = machine.pricePerGpuHour } = change;
  const problem =
    change.pricePerGpuHour === undefined ? null : problemWithPrice(change.pricePerGpuHour, rules);
  if (problem !== null) throw invalidField(['pricePerGpuHourNanoUsd'], problem);
  if (listed && pricePerGpuHour === null) {
    throw invalidField(['pricePerGpuHourNanoUsd'], 'is required before the machine can be listed');
  }
  if (listed === machine.listed && pricePerGpuHour === machine.pricePerGpuHour) return;
  const recentPrice = nextRecentPrice(machine, { listed, pricePerGpuHour }, tx.clock.now());
  await setMachineListing(tx, machine, { listed, pricePerGpuHour, recentPrice });
  await appendAuditEntry(tx, call.orgId, call.cause, {
    action: 'machine.offered',
    resource: { kind: 'machine', id: nodeId },
    before: auditedListing(machine),
    after: auditedListing({ listed, pricePerGpuHour }),
  });
}

function auditedListing(offer: Pick<SupplierMachine, 'listed' | 'pricePerGpuHour'>) {
  return { listed: offer.listed, pricePerGpuHourNanoUsd: offer.pricePerGpuHour?.toString() ?? null };
}

/** Stops new rentals. The supplier's request replaces maintenance windows on the node. */
export async function drainMachine(tx: Tx, call: CallContext, nodeId: NodeId): Promise<void> {
  await authorizeCaller(tx, call, 'supplier:write');
  const machine = await lockOwnMachine(tx, call, nodeId);
  const { actor } = call.cause;
  await transitionNode(tx, nodeId, 'node_draining', { reason: 'Drained by the supplier.', actor });
  const now = tx.clock.now();
  await releaseFromWindows(tx, nodeId, now);
  if (machine.drainedAt !== null) return;
  await setDrained(tx, machine, now);
  const resource = { kind: 'machine', id: nodeId };
  await appendAuditEntry(tx, call.orgId, call.cause, { action: 'machine.drained', resource });
}

/** Resumes only a machine that its supplier drained, not one taken out of use by an operator or a check. */
export async function resumeMachine(tx: Tx, call: CallContext, nodeId: NodeId): Promise<void> {
  await authorizeCaller(tx, call, 'supplier:write');
  const machine = await lockOwnMachine(tx, call, nodeId);
  await lockCapacity(tx, [nodeId]);
  const node = await findNode(tx, nodeId);
  if (node === null) throw machineNotFound();
  if (machine.drainedAt === null) {
    if (node.status === 'node_ready') return;
    throw notDrained(`The machine is ${node.status}, and its supplier did not drain it.`);
  }
  if (node.status === 'node_quarantined') {
    throw notDrained(`The machine is quarantined: ${node.statusReason ?? 'a check failed'}.`);
  }
  const { actor } = call.cause;
  await transitionNode(tx, nodeId, 'node_ready', { reason: 'Resumed by the supplier.', actor });
  await setDrained(tx, machine, null);
  const resource = { kind: 'machine', id: nodeId };
  await appendAuditEntry(tx, call.orgId, call.cause, { action: 'machine.resumed', resource });
}

function notDrained(message: string): Fault {
  return new Fault('INVALID_STATE_TRANSITION', {
    message,
    suggestion:
      'Read statusReason for the cause. The machine becomes ready when the cause ends or the operator resumes it.',
  });
}

/**
 * Removes an unused machine from the marketplace and the fleet. Idempotent. Refused while it has rentals, because their
 * tenants paid for them.
 */
export async function withdrawMachine(tx: Tx, call: CallContext, nodeId: NodeId): Promise<void> {
  await authorizeCaller(tx, call, 'supplier:write');
  const machine = await lockMachine(tx, call.orgId, nodeId);
  if (machine?.stage === 'withdrawn') return;
  if (machine === null || machine.stage === 'refused') throw machineNotFound();
  if (machine.stage !== 'enrolled') {
    throw new Fault('INVALID_STATE_TRANSITION', {
      message: 'The machine is being tested.',
      suggestion: 'The tests end within minutes. Withdraw the machine then.',
    });
  }
  await removeMachineCluster(tx, call.cause, machine);
  await setWithdrawn(tx, machine);
  await appendAuditEntry(tx, call.orgId, call.cause, {
    action: 'machine.withdrawn',
    resource: { kind: 'machine', id: nodeId },
    before: auditedListing(machine),
  });
}

async function removeMachineCluster(tx: Tx, cause: AuditContext, machine: SupplierMachine): Promise<void> {
  try {
    await removeCluster(tx, cause, machine.clusterId, 'Withdrawn by the supplier.');
  } catch (error) {
    if (!(error instanceof Fault) || error.reason !== 'CLUSTER_HAS_WORK') throw error;
    throw new Fault('NODE_HAS_WORK', {
      cause: error,
      message: 'Tenants still have instances on the machine.',
      suggestion: 'Drain the machine, and withdraw it when gpusRented is 0.',
    });
  }
}

/** Rentals on a rejected machine continue; new ones are refused. */
export async function reviewMachine(
  tx: Tx,
  cause: AuditContext,
  nodeId: NodeId,
  review: { readonly approval: 'approved' | 'rejected'; readonly reason: string },
): Promise<void> {
  const known = await findAnyMachine(tx, nodeId);
  const machine = known === null ? null : await lockMachine(tx, known.orgId, nodeId);
  if (machine === null || machine.stage === 'withdrawn' || machine.stage === 'refused')
    throw machineNotFound();
  const { approval, reason } = review;
  if (approval === 'approved' && machine.stage !== 'enrolled') {
    throw new Fault('INVALID_STATE_TRANSITION', {
      message: 'The machine has not passed its tests yet.',
      suggestion: 'Approve the machine when it is enrolled.',
    });
  }
  await setApproval(tx, machine, approval, reason);
  await appendAuditEntry(tx, machine.orgId, cause, {
    action: `machine.${approval}`,
    resource: { kind: 'machine', id: nodeId },
    before: { approval: machine.approval },
    after: { approval },
    reason,
  });
}
