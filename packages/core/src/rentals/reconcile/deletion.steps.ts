import { DriverError, isDriverError } from '@millrace/compute';
import type { Tx } from '@millrace/platform/db';
import { retryDelayMs } from '@millrace/platform/loops';
import { addUsd } from '@millrace/platform/money';
import { counter } from '@millrace/platform/telemetry';
import {
  findCluster,
  lockCapacity,
  quarantineUncleanNode,
  transitionNode,
  releaseAllocation,
} from '../../fleet/index.ts';
import { owedAt } from '../../metering/index.ts';
import {
  callEngine,
  engineFailureOf,
  findUnchangedMachine,
  scheduleRetry,
  type ReconcileDeps,
  type RunMachineStep,
} from './reconcile-deps.ts';
import { listMachines, saveMachine } from '../model/machines.store.ts';
import { metersOf } from '../money/rental-billing.service.ts';
import { transitionRental } from '../model/rental-transitions.ts';
import { deletionLateMsOf } from '../model/policy.ts';
import { type Rental, type RentalMachine, type RentalView, rentalsActor } from '../model/rental.ts';
import { endRunningProvisioningStep } from '../model/provisioning-steps.store.ts';
import { toWireAmount } from '../model/wire-amount.ts';
import { lockView } from '../model/rental-view.ts';
import { isAdmittedByVolumes } from '../model/rental-volumes.ts';

/** Deletes machines: disconnect, delete, and release the GPUs after two reports of absence. */

const disconnectLateCounter = counter('millrace_rentals_cut_late_total');
const uncleanNodeCounter = counter('millrace_rentals_unclean_nodes_total');
const stuckDeletionCounter = counter('millrace_rentals_stuck_removals_total');

/** While the fleet's observer finds a cluster silent, none of its machines is tried. */
async function isClusterSilent({ db }: ReconcileDeps, { clusterId }: RentalMachine): Promise<boolean> {
  return (await findCluster(db, clusterId))?.status === 'silent';
}

const clusterSilentError = (): DriverError => new DriverError('unavailable', 'The cluster is unreachable.');

/** After this step the tenant has no access to the machine. */
export const disconnectMachine: RunMachineStep = async (deps, view, machine, signal) => {
  const { rental } = view;
  if (await isClusterSilent(deps, machine))
    return retryDeletion(deps, view, machine, clusterSilentError(), { silent: true });
  try {
    const driver = await deps.drivers(machine.clusterId);
    const options = { what: 'Disconnecting a machine', timeoutMs: deps.policy.callTimeoutMs, signal };
    await callEngine(deps, rental, options, (end) => driver.cutAccess(machine, end));
  } catch (error) {
    return retryDeletion(deps, view, machine, error);
  }
  const cutAt = deps.db.clock.now();
  await deps.db.transaction({ name: 'note access cut', isolation: 'read committed' }, async (tx) => {
    await saveMachine(tx, machine, { cutAt, tries: 0, nextTryAt: null, lastError: null });
  });
  // Measured from the accepted termination, which can be later than the end of billing.
  const lateMs = cutAt.getTime() - (machine.terminatingSince ?? cutAt).getTime();
  if (lateMs > deps.policy.cutWithinMs) {
    disconnectLateCounter.add(1);
    deps.log.error({ rentalId: rental.id, lateMs }, 'tenant was disconnected later than promised');
  }
};

export const deleteMachine: RunMachineStep = async (deps, view, machine, signal) => {
  const { policy } = deps;
  const options = { what: 'Deleting a machine', timeoutMs: policy.createTimeoutMs, signal };
  if (await isClusterSilent(deps, machine))
    return retryDeletion(deps, view, machine, clusterSilentError(), { silent: true });
  let isThere: boolean;
  try {
    const driver = await deps.drivers(machine.clusterId);
    isThere = await callEngine(deps, view.rental, options, async (end) => {
      if (machine.absentSeen === 0) await driver.terminate(machine, end);
      return (await driver.describe(machine, end)) !== null;
    });
  } catch (error) {
    // An operator may wipe the node and return it to use, which must wait while volumes still admit its address.
    if (isDriverError(error, 'unclean') && !(await isAdmittedByVolumes(deps.db, view.rental))) {
      return finishUncleanDeletion(deps, view, machine, error.message);
    }
    return retryDeletion(deps, view, machine, error);
  }
  if (isThere) {
    return retryDeletion(deps, view, machine, new Error('The engine still has the machine.'), {
      seenAgain: true,
    });
  }
  if (machine.absentSeen > 0 && (await isAdmittedByVolumes(deps.db, view.rental))) {
    return retryDeletion(
      deps,
      view,
      machine,
      new Error('A storage node still admits the address of the machine.'),
    );
  }
  await recordAbsenceOf(deps, view, machine);
};

async function recordAbsenceOf(deps: ReconcileDeps, view: RentalView, machine: RentalMachine): Promise<void> {
  const { rental } = view;
  const now = deps.db.clock.now();
  if (machine.absentSeen === 0) {
    await deps.db.transaction({ name: 'note absence', isolation: 'read committed' }, async (tx) => {
      const nextTryAt = new Date(now.getTime() + deps.policy.absentGapMs);
      await saveMachine(tx, machine, { absentSeen: 1, tries: 0, nextTryAt, lastError: null });
    });
    return;
  }
  await deps.db.transaction({ name: 'free machine', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, rental);
    if (current === null || findUnchangedMachine(current, machine) === null) return;
    await finishMachineDeletion(tx, current, machine);
  });
}

/** Records the confirmed deletion. The last machine of a placement releases the GPUs of all its nodes. */
export async function finishMachineDeletion(
  tx: Tx,
  { rental, machines }: RentalView,
  machine: RentalMachine,
): Promise<void> {
  const { allocationId, externalId } = machine;
  await saveMachine(tx, machine, {
    state: 'gone',
    absentSeen: 2,
    confirmedDeletedAt: tx.clock.now(),
    nextTryAt: null,
  });
  if (allocationId === null) return;
  const others = machines.filter(
    (other) => other.allocationId === allocationId && other.externalId !== externalId,
  );
  if (others.length === 0) await releaseAllocation(tx, rental.orgId, allocationId);
}

/** The engine could not wipe the node. The same transaction quarantines it, so that it cannot be sold in between. */
async function finishUncleanDeletion(
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
  why: string,
): Promise<void> {
  const { rental } = view;
  await deps.db.transaction({ name: 'free unclean machine', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, rental);
    if (current === null || findUnchangedMachine(current, machine) === null) return;
    // Locks everything that the release may write, in the common lock order.
    const all = await listMachines(tx, rental.orgId, rental.id, 'all');
    const placed = all.filter(({ allocationId }) => allocationId === machine.allocationId);
    await lockCapacity(tx, [...new Set(placed.map(({ nodeId }) => nodeId))]);
    await quarantineUncleanNode(tx, machine.nodeId, { why, actor: rentalsActor });
    await finishMachineDeletion(tx, current, machine);
  });
  uncleanNodeCounter.add(1);
  deps.log.error(
    { rentalId: rental.id, nodeId: machine.nodeId, externalId: machine.externalId, why },
    'node could not be wiped and is quarantined',
  );
}

async function retryDeletion(
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
  error: unknown,
  options: { readonly seenAgain?: boolean; readonly silent?: boolean } = {},
): Promise<void> {
  const { rental } = view;
  // Paused during the call: this try does not count, and the deletion is not late.
  if (deps.hold?.isHeld() === true) return;
  const failure = engineFailureOf(error);
  deps.log.warn(
    { rentalId: rental.id, externalId: machine.externalId, err: error, tries: machine.tries },
    'machine deletion failed; it will be retried',
  );
  if (options.seenAgain === true && machine.absentSeen > 0) {
    await deps.db.transaction({ name: 'machine is back', isolation: 'read committed' }, async (tx) => {
      await saveMachine(tx, machine, { absentSeen: 0 });
    });
  }
  const lateInMs = deletionLateMsOf(rental, deps.policy) - deletionTriedForMs(deps, machine);
  if (lateInMs <= 0) await quarantineNodeAfterStuckDeletion(deps, view, machine, failure.message);
  const { longestRemovalRetryMs, longestSilentRetryMs } = deps.policy;
  const longestMs = options.silent === true ? longestSilentRetryMs : longestRemovalRetryMs;
  const wholeMs = retryDelayMs({ ...deps.policy, maxRetryMs: longestMs }, machine.tries + 1);
  await scheduleRetry(deps, machine, failure, { afterMs: deletionRetryMs(wholeMs, rental.wireId, lateInMs) });
}

/** How long the deletion could have been tried. */
function deletionTriedForMs({ db, hold }: ReconcileDeps, { terminatingSince }: RentalMachine): number {
  if (terminatingSince === null) return 0;
  const heldUntilMs = hold?.heldUntil()?.getTime() ?? 0;
  return db.clock.nowMs() - Math.max(terminatingSince.getTime(), heldUntilMs);
}

/**
 * Spreads retries over a quarter of the interval. One falls on the time at which the deletion is late, to quarantine the node.
 */
function deletionRetryMs(wholeMs: number, wireId: number, lateInMs: number): number {
  const delayMs = wholeMs - ((wholeMs * (wireId % SPREAD)) >> SPREAD_SHIFT);
  return lateInMs > 0 ? Math.min(delayMs, lateInMs) : delayMs;
}

/** 64 steps within a quarter of the interval. */
const SPREAD = 64;
const SPREAD_SHIFT = 8;

/** A host that cannot delete this machine might not be able to create the next one. */
async function quarantineNodeAfterStuckDeletion(
  deps: ReconcileDeps,
  { rental }: RentalView,
  machine: RentalMachine,
  why: string,
): Promise<void> {
  const moved = await deps.db.transaction(
    { name: 'quarantine node', isolation: 'read committed' },
    async (tx) =>
      transitionNode(tx, machine.nodeId, 'node_quarantined', {
        reason: `A machine of rental ${rental.wireId} cannot be deleted: ${why}`,
        actor: rentalsActor,
      }),
  );
  if (moved.before.status === 'node_quarantined') return;
  stuckDeletionCounter.add(1);
  deps.log.error(
    { rentalId: rental.id, nodeId: machine.nodeId, externalId: machine.externalId },
    'machine deletion is stuck; its node is quarantined',
  );
}

export async function finishTermination(deps: ReconcileDeps, view: RentalView): Promise<void> {
  await deps.db.transaction({ name: 'end rental', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current !== null) await terminateIfEmpty(tx, current);
  });
}

/** Returns null if the rental still has machines or is not ending. The caller holds its lock. */
export async function terminateIfEmpty(tx: Tx, { rental, machines }: RentalView): Promise<Rental | null> {
  if (machines.length > 0 || (rental.status !== 'Terminating' && rental.status !== 'Failed')) return null;
  const now = tx.clock.now();
  await endRunningProvisioningStep(tx, rental.orgId, rental.id, { status: 'done' });
  const meters = await metersOf(tx, rental);
  const cost = addUsd(...meters.map((meter) => owedAt(meter, now)));
  return transitionRental(tx, rental, {
    to: 'Terminated',
    reason: rental.statusReason,
    actor: rentalsActor,
    changes: {
      task: null,
      taskDeadlineAt: null,
      endedAt: now,
      allocationId: null,
      power: 'off',
      gpuHeld: false,
      userData: null,
    },
    data: { terminatedAt: (rental.endAcceptedAt ?? now).toISOString(), finalCost: toWireAmount(cost) },
  });
}
