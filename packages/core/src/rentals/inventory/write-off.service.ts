import type { Tx } from '@millrace/platform/db';
import { Fault } from '@millrace/platform/fault';
import type { NodeId } from '@millrace/platform/ids';
import {
  quarantineLostNode,
  lockCapacity,
  markReleasing,
  recordWriteOff,
  readNodeReachability,
  removeLostNode,
  type NodeRecord,
} from '../../fleet/index.ts';
import { appendAuditEntry, type AuditContext } from '../../identity/index.ts';
import { receiptOf, type Receipt } from '../actions/termination.service.ts';
import { markMachinesTerminating, listRentalsOnNode } from '../model/machines.store.ts';
import { failRental, metersOf } from '../money/rental-billing.service.ts';
import { failLostRental } from '../reconcile/lost-rental.ts';
import { toComparedRental, lastHealthyAt } from './plan-repairs.ts';
import { terminateIfEmpty, finishMachineDeletion } from '../reconcile/deletion.steps.ts';
import { rentalResourceOf, type RentalMachine, type RentalView } from '../model/rental.ts';
import { findAnyRental } from '../model/rentals.store.ts';
import { readComparison } from './comparisons.store.ts';
import { lockView } from '../model/rental-view.ts';
import { isAdmittedByVolumes } from '../model/rental-volumes.ts';

/**
 * Writes off rentals whose host never returns. Its engine cannot confirm the deletion, so an operator declares the machine and
 * its data lost: the rental ends, and the host sells nothing until its engine has shown it without the machine. A machine that
 * its engine can delete is never written off.
 */

export interface WriteOff {
  readonly receipt: Receipt;
  readonly writtenOff: number;
  /** Machines that still have to be deleted: their hosts respond, or a volume still admits their address. */
  readonly left: number;
  readonly nodes: readonly NodeRecord[];
}

interface WriteOffRequest {
  readonly reason: string;
}

const LOST_REASON = 'The host is lost and will not return. The machine and its data are lost.';

/** Writes off the machines of a rental whose hosts do not respond. A repeated call returns the same result. */
export async function writeOffRental(
  tx: Tx,
  cause: AuditContext,
  request: WriteOffRequest & { readonly rentalId: number },
): Promise<WriteOff> {
  const found = await findAnyRental(tx, request.rentalId);
  const view = found === null ? null : await lockView(tx, found);
  if (view === null) throw new Fault('RENTAL_NOT_FOUND');
  if (view.rental.status === 'Terminated') return writeOffResult(tx, view, { writtenOff: 0, nodes: [] });
  const lost = await findLost(tx, view.machines);
  if (lost.length === 0) throw new Fault('HOST_ANSWERS');
  return writeOff(tx, cause, { view, lost, reason: request.reason });
}

export interface NodeWriteOff {
  readonly node: NodeRecord;
  readonly rentals: readonly WriteOff[];
}

/**
 * Writes off every machine on a node, then the node itself. A rental that also has machines on responding hosts keeps its
 * allocation until those are deleted; the node stays quarantined until the call is repeated after that.
 */
export async function writeOffNode(
  tx: Tx,
  cause: AuditContext,
  request: WriteOffRequest & { readonly nodeId: NodeId },
): Promise<NodeWriteOff> {
  const { nodeId, reason } = request;
  const views: RentalView[] = [];
  // Rental locks come before fleet locks.
  for (const ref of await listRentalsOnNode(tx, nodeId)) {
    const view = await lockView(tx, ref);
    if (view !== null) views.push(view);
  }
  const host = await readNodeReachability(tx, nodeId);
  if (host === null) throw new Fault('NODE_NOT_FOUND');
  if (host.isAnswering) throw new Fault('HOST_ANSWERS');
  const rentals: WriteOff[] = [];
  for (const view of views) {
    const lost = view.machines.filter((machine) => machine.nodeId === nodeId);
    if (lost.length > 0) rentals.push(await writeOff(tx, cause, { view, lost, reason }));
  }
  return { node: await removeLostNode(tx, cause, nodeId, reason), rentals };
}

async function findLost(tx: Tx, machines: readonly RentalMachine[]): Promise<readonly RentalMachine[]> {
  const lost: RentalMachine[] = [];
  for (const machine of machines) {
    const host = await readNodeReachability(tx, machine.nodeId);
    if (host === null || !host.isAnswering) lost.push(machine);
  }
  return lost;
}

async function writeOff(
  tx: Tx,
  cause: AuditContext,
  {
    view,
    lost,
    reason,
  }: { readonly view: RentalView } & WriteOffRequest & {
      readonly lost: readonly RentalMachine[];
    },
): Promise<WriteOff> {
  const { rental } = view;
  await endBillingOfLost(tx, cause, view);
  // No other machine may get the address while a storage node may still admit it.
  const isAdmitted = await isAdmittedByVolumes(tx, rental);
  const nodeIds = [...new Set(lost.map(({ nodeId }) => nodeId))].toSorted();
  await lockCapacity(tx, nodeIds);
  const nodes: NodeRecord[] = [];
  for (const nodeId of nodeIds) {
    nodes.push(
      await quarantineLostNode(
        tx,
        cause,
        nodeId,
        `A machine of rental ${rental.wireId} was written off: ${reason}`,
      ),
    );
  }
  const writtenOff = isAdmitted ? 0 : await writeOffAll(tx, view, lost);
  const emptied = await lockView(tx, rental);
  const ended = emptied === null ? null : await terminateIfEmpty(tx, emptied);
  const after = ended ?? emptied?.rental ?? rental;
  const result = await writeOffResult(
    tx,
    { ...view, rental: after, machines: emptied?.machines ?? [] },
    { writtenOff, nodes },
  );
  const resource = rentalResourceOf(rental);
  await appendAuditEntry(tx, rental.orgId, cause, {
    action: `${resource.kind}.written_off`,
    resource,
    before: { status: rental.status },
    after: {
      status: after.status,
      machines: writtenOff,
      machinesLeft: result.left,
      finalCostNanoUsd: String(result.receipt.finalCost),
    },
    reason,
  });
  return result;
}

/** Fails a rental that had not ended and bills it to its last healthy time. Billing of an ending rental has already stopped. */
async function endBillingOfLost(tx: Tx, cause: AuditContext, view: RentalView): Promise<void> {
  const { rental } = view;
  if (rental.status === 'Terminating' || rental.status === 'Failed') return;
  const now = tx.clock.now();
  const [first] = view.machines;
  const wholeAt = first === undefined ? null : (await readComparison(tx, first.clusterId, now)).wholeAt;
  const at = lastHealthyAt(toComparedRental(rental), { now, wholeAt });
  if (rental.status === 'Pending') {
    await markMachinesTerminating(tx, rental.orgId, rental.id, { now });
    if (rental.allocationId !== null) await markReleasing(tx, rental.orgId, rental.allocationId);
    await failRental(tx, view, LOST_REASON, { actor: cause.actor, lastGoodSign: at });
    return;
  }
  await failLostRental(tx, view, { at, why: LOST_REASON, actor: cause.actor });
}

async function writeOffAll(tx: Tx, { rental }: RentalView, lost: readonly RentalMachine[]): Promise<number> {
  let count = 0;
  for (const { externalId } of lost) {
    const current = await lockView(tx, rental);
    const machine = current?.machines.find((other) => other.externalId === externalId);
    if (current === null || machine === undefined) continue;
    await recordWriteOff(tx, rental.orgId, machine);
    await finishMachineDeletion(tx, current, machine);
    count += 1;
  }
  return count;
}

async function writeOffResult(
  tx: Tx,
  view: RentalView,
  { writtenOff, nodes }: Pick<WriteOff, 'writtenOff' | 'nodes'>,
): Promise<WriteOff> {
  const receipt = receiptOf(view.rental, view.terms, await metersOf(tx, view.rental));
  return { receipt, writtenOff, left: view.machines.length, nodes };
}
