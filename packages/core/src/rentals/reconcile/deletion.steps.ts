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

/** How machines go: access first, then the machine, and the GPUs only when the engine has said twice that it is gone. */

const disconnectLateCounter = counter(
  'millrace_rentals_cut_late_total',
  'Ends after which access was cut later than promised',
);
const uncleanNodeCounter = counter(
  'millrace_rentals_unclean_nodes_total',
  'Nodes that were quarantined because their engine could not wipe them',
);
const stuckDeletionCounter = counter(
  'millrace_rentals_stuck_removals_total',
  'Removals that took so long that their node was quarantined',
);

/** One probe per cluster decides: while the fleet's observer finds the cluster silent, no machine of it is tried. */
async function isClusterSilent({ db }: ReconcileDeps, { clusterId }: RentalMachine): Promise<boolean> {
  return (await findCluster(db, clusterId))?.status === 'silent';
}

const clusterSilentError = (): DriverError => new DriverError('unavailable', 'Its cluster does not answer.');

/** What the engine is told to forget. Nothing the tenant could do with the machine is left when it resolves. */
export const disconnectMachine: RunMachineStep = async (deps, view, machine, signal) => {
  const { rental } = view;
  if (await isClusterSilent(deps, machine))
    return retryDeletion(deps, view, machine, clusterSilentError(), { silent: true });
  try {
    const driver = await deps.drivers(machine.clusterId);
    const options = { what: 'Cutting access', timeoutMs: deps.policy.callTimeoutMs, signal };
    await callEngine(deps, rental, options, (end) => driver.cutAccess(machine, end));
  } catch (error) {
    return retryDeletion(deps, view, machine, error);
  }
  const cutAt = deps.db.clock.now();
  await deps.db.transaction({ name: 'note access cut', isolation: 'read committed' }, async (tx) => {
    await saveMachine(tx, machine, { cutAt, tries: 0, nextTryAt: null, lastError: null });
  });
  // From when the end was accepted, which may be later than the instant up to which is billed.
  const lateMs = cutAt.getTime() - (machine.terminatingSince ?? cutAt).getTime();
  if (lateMs > deps.policy.cutWithinMs) {
    disconnectLateCounter.add(1);
    deps.log.error({ rentalId: rental.id, lateMs }, 'access was cut later than promised');
  }
};

/** Deletes the machine, and once the engine has said twice that it is not there, gives its GPUs back. */
export const deleteMachine: RunMachineStep = async (deps, view, machine, signal) => {
  const { policy } = deps;
  const options = { what: 'Removing a machine', timeoutMs: policy.createTimeoutMs, signal };
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
    // Somebody may wipe the node by hand and offer it again: not while its address is let in.
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
    return retryDeletion(deps, view, machine, new Error('A volume still lets the machine in.'));
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

/** The machine is gone. With the last one of its placement the GPUs of all its nodes can be sold again. */
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

/**
 * The engine has taken the machine from its tenant and could not wipe its node. The tenant has nothing more to do with it; the
 * node is not sold for a moment, since it is quarantined where its machine is said to be gone.
 */
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
    // All that the release may write, in the order in which everybody locks them.
    const all = await listMachines(tx, rental.orgId, rental.id, 'all');
    const placed = all.filter(({ allocationId }) => allocationId === machine.allocationId);
    await lockCapacity(tx, [...new Set(placed.map(({ nodeId }) => nodeId))]);
    await quarantineUncleanNode(tx, machine.nodeId, { why, actor: rentalsActor });
    await finishMachineDeletion(tx, current, machine);
  });
  uncleanNodeCounter.add(1);
  deps.log.error(
    { rentalId: rental.id, nodeId: machine.nodeId, externalId: machine.externalId, why },
    'a node could not be wiped and is quarantined',
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
  // Held while it was under way: it counts as neither tried nor late, and the next round waits.
  if (deps.hold?.isHeld() === true) return;
  const failure = engineFailureOf(error);
  deps.log.warn(
    { rentalId: rental.id, externalId: machine.externalId, err: error, tries: machine.tries },
    'a machine could not be removed yet',
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

/** How long the removal could have been tried. */
function deletionTriedForMs({ db, hold }: ReconcileDeps, { terminatingSince }: RentalMachine): number {
  if (terminatingSince === null) return 0;
  const heldUntilMs = hold?.heldUntil()?.getTime() ?? 0;
  return db.clock.nowMs() - Math.max(terminatingSince.getTime(), heldUntilMs);
}

/**
 * Removals that failed together are spread over a quarter of the whole interval, and one try falls on the instant at which the removal counts as late, so that its node is quarantined then.
 */
function deletionRetryMs(wholeMs: number, wireId: number, lateInMs: number): number {
  const delayMs = wholeMs - ((wholeMs * (wireId % SPREAD)) >> SPREAD_SHIFT);
  return lateInMs > 0 ? Math.min(delayMs, lateInMs) : delayMs;
}

/** Sixty-four places within a quarter of the interval. */
const SPREAD = 64;
const SPREAD_SHIFT = 8;

/** Whatever keeps the machine from going may keep the next one from coming: nothing new is put there. */
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
        reason: `A machine of rental ${rental.wireId} cannot be removed: ${why}`,
        actor: rentalsActor,
      }),
  );
  if (moved.before.status === 'node_quarantined') return;
  stuckDeletionCounter.add(1);
  deps.log.error(
    { rentalId: rental.id, nodeId: machine.nodeId, externalId: machine.externalId },
    'a machine cannot be removed; its node is quarantined',
  );
}

/** Nothing of it is left. */
export async function finishTermination(deps: ReconcileDeps, view: RentalView): Promise<void> {
  await deps.db.transaction({ name: 'end rental', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current !== null) await terminateIfEmpty(tx, current);
  });
}

/** The same for a view whose lock is held. Null: it has machines, or nobody ended it. */
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
