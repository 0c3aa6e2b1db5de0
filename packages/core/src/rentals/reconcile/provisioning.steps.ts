import { newReadinessKey, type ReadinessKey } from '@millrace/compute/readiness';
import { isDriverError, type ComputeDriver, type MachineView } from '@millrace/compute';
import { withDeadline } from '@millrace/platform/clock';
import { confirmReads, type Tx } from '@millrace/platform/db';
import { isFault } from '@millrace/platform/fault';
import {
  findCluster,
  isNodeInUse,
  markReleasing,
  quarantineNodeInUse,
  quarantineUncleanNodeByName,
  recordNodeFaults,
  place,
  type Placement,
} from '../../fleet/index.ts';
import {
  callEngine,
  engineFailureOf,
  findUnchangedMachine,
  withSameTask,
  scheduleRetry,
  type ReconcileDeps,
  type RunMachineStep,
} from './reconcile-deps.ts';
import { imageOf, machineSpecOf } from './machine-spec.ts';
import {
  markMachinesTerminating,
  insertMachines,
  listMachines,
  saveMachine,
  type MachineChanges,
} from '../model/machines.store.ts';
import { failRental, failStart } from '../money/rental-billing.service.ts';
import { updateRentalAndEnqueue, emitRentalEvent, emitStarting } from '../model/rental-transitions.ts';
import { machinesOfPlacement, toPlacementRequest } from '../order/placement-request.ts';
import { attemptTimeoutMsOf } from '../model/policy.ts';
import {
  isPinnedToHost,
  currentMachinesOf,
  type Rental,
  type RentalMachine,
  type RentalView,
  rentalsActor,
} from '../model/rental.ts';
import { startProvisioningStepIfNew, type ProvisioningStepName } from '../model/provisioning-steps.ts';
import { endRunningProvisioningStep } from '../model/provisioning-steps.store.ts';
import { lockView } from '../model/rental-view.ts';
import { hasSharedAddress, refreshVolumeClients } from '../model/rental-volumes.ts';

/** Creates and starts machines at their engine, and handles failed attempts. */

/** A machine that cannot be sold for a reason other than an engine error. */
export class MachineNotUsable extends Error {
  readonly isFinal: boolean;
  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

const keySeal = (machine: RentalMachine) =>
  ({ table: 'rental_machines', column: 'proof_key', rowId: machine.externalId }) as const;

/** Machines created before the platform generated host keys have none. */
type StoredKey = Omit<ReadinessKey, 'hostKey'> & Partial<Pick<ReadinessKey, 'hostKey'>>;

export function unsealKey(deps: ReconcileDeps, machine: RentalMachine): StoredKey | null {
  if (machine.proofKey === null) return null;
  return JSON.parse(deps.sealer.open(machine.proofKey, keySeal(machine))) as StoredKey;
}

/**
 * The one-time readiness key of the machine. It is stored before the engine is called, so that a worker that resumes after a
 * crash uses the same key. Null if the rental has changed meanwhile.
 */
async function ensureVerificationKey(
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
): Promise<ReadinessKey | null> {
  return deps.db.transaction({ name: 'take proof key', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    const same = current === null ? null : findUnchangedMachine(current, machine);
    if (current === null || same === null) return null;
    await startProvisioningStepIfNew(tx, current.rental, 'create');
    const known = unsealKey(deps, same);
    if (known?.hostKey !== undefined) {
      // An earlier primary may still answer reads after a failover, and the machine may have been deleted since.
      await confirmReads(tx);
      return { ...known, hostKey: known.hostKey };
    }
    const made = newReadinessKey();
    await saveMachine(tx, same, { proofKey: deps.sealer.seal(JSON.stringify(made), keySeal(same)) });
    return made;
  });
}

/** The machine has a volume, and another machine of the region has its private address. */
export class PrivateAddressTaken extends Error {}

/**
 * Stores a machine's progress and starts the next provisioning step when all machines have reached it. Returns false if the
 * machine is no longer needed. Throws `PrivateAddressTaken` without changes.
 */
export async function advanceMachine(
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
  changes: MachineChanges,
  next: ProvisioningStepName,
): Promise<boolean> {
  return deps.db.transaction({ name: 'advance machine', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current === null || findUnchangedMachine(current, machine) === null) return false;
    await saveMachine(tx, machine, { tries: 0, nextTryAt: null, lastError: null, ...changes });
    if (changes.privateIp != null && (await hasSharedAddress(tx, current.rental, machine)))
      throw new PrivateAddressTaken(
        `Another machine of the region has the private address ${changes.privateIp}.`,
      );
    const isLast = currentMachinesOf(current).every(
      (other) => other.externalId === machine.externalId || other.state !== machine.state,
    );
    if (isLast) await startProvisioningStepIfNew(tx, current.rental, next);
    if (isLast && next === 'prove') await emitStarting(tx, current.rental, rentalsActor);
    return true;
  });
}

export const createMachine: RunMachineStep = async (deps, view, machine, signal) => {
  const { rental } = view;
  const key = await ensureVerificationKey(deps, view, machine);
  if (key === null) return;
  try {
    const cluster = await findCluster(deps.db, machine.clusterId);
    if (cluster === null) throw new Error(`Cluster ${machine.clusterId} does not exist.`);
    const spec = machineSpecOf(rental, machine, { image: imageOf(rental, cluster), key });
    const driver = await deps.drivers(machine.clusterId);
    const options = { what: 'Creating a machine', timeoutMs: deps.policy.createTimeoutMs, signal };
    await callEngine(deps, rental, options, (end) => driver.create(spec, end));
  } catch (error) {
    if (rental.kind === 'bare-metal' && isNodeInUse(error))
      await quarantineNodeOf(deps, view, machine, error);
    return handleMachineFailure(deps, view, machine, error, 'The host could not create the machine.');
  }
  if (!(await advanceMachine(deps, view, machine, { state: 'made' }, 'prove'))) {
    await deleteLateMachine(deps, machine);
  }
};

/**
 * An engine that uses the node for something else would refuse the next tenant too. Runs before the new placement and in its own
 * transaction, because placing must not hold node locks.
 */
async function quarantineNodeOf(
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
  error: unknown,
): Promise<void> {
  const why = engineFailureOf(error).message;
  await deps.db.transaction({ name: 'suspect node', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current === null || findUnchangedMachine(current, machine) === null) return;
    await quarantineNodeInUse(tx, machine.nodeId, { why, actor: rentalsActor });
  });
}

/**
 * Deletes a machine that was created after its rental ended. If the deletion has started, it continues by itself. If it was
 * complete before the engine created the machine, no row refers to the machine and its GPUs may be sold again. On failure the
 * inventory reconciler deletes the machine.
 */
async function deleteLateMachine(deps: ReconcileDeps, machine: RentalMachine): Promise<void> {
  const { orgId, rentalId, externalId, clusterId } = machine;
  const machines = await listMachines(deps.db, orgId, rentalId, 'all');
  if (machines.find((known) => known.externalId === externalId)?.state !== 'gone') return;
  const about = { rentalId, externalId };
  try {
    const driver = await deps.drivers(clusterId);
    await withDeadline(deps.clock, 'Deleting a late machine', deps.policy.callTimeoutMs, async (signal) => {
      await driver.cutAccess(machine, signal);
      await driver.terminate(machine, signal);
    });
    deps.log.warn(about, 'deleted a machine that was created after its rental ended');
  } catch (error) {
    if (isDriverError(error, 'unclean')) {
      const node = { clusterId, nodeName: machine.nodeName };
      await quarantineUncleanNodeByName(deps.db, node, { why: error.message, actor: rentalsActor });
    }
    deps.log.warn(
      { ...about, err: error },
      'could not delete a machine that was created after its rental ended',
    );
  }
}

/**
 * Gives a released machine new GPUs and switches it on. The tenant controls its system, which could refuse the platform's login
 * and run unbilled. So the engine's report that it is on with these GPUs is sufficient, and billing starts then.
 */
export const resumeReleasedMachine: RunMachineStep = async (deps, view, machine, signal) => {
  await startProvisioningStep(deps, view, 'start');
  let revived: MachineView;
  try {
    const driver = await deps.drivers(machine.clusterId);
    const options = { what: 'Starting a released machine', timeoutMs: deps.policy.createTimeoutMs, signal };
    revived = await callEngine(deps, view.rental, options, (end) => resumeOnEngine(driver, machine, end));
  } catch (error) {
    return handleMachineFailure(deps, view, machine, error, 'The host could not start the machine.');
  }
  const address = revived.address ?? machine.address;
  const privateIp = revived.privateIps[0] ?? null;
  await advanceMachine(deps, view, machine, { state: 'open', address, privateIp }, 'open');
};

async function resumeOnEngine(
  driver: ComputeDriver,
  machine: RentalMachine,
  signal: AbortSignal,
): Promise<MachineView> {
  const before = await driver.describe(machine, signal);
  if (before?.power !== 'on') await driver.setGpus(machine, machine.gpuAddresses, signal);
  await driver.setPorts(machine, machine.ports, signal);
  await driver.start(machine, signal);
  const after = await driver.describe(machine, signal);
  if (after === null) throw new MachineNotUsable('The engine does not have the machine.', true);
  if (after.power === 'error') throw new MachineNotUsable('The machine did not boot.', true);
  const has = after.gpuPciAddresses.toSorted().join();
  if (has === machine.gpuAddresses.toSorted().join()) return after;
  throw new MachineNotUsable(`The machine has other GPUs than those sold: ${has}.`, true);
}

async function startProvisioningStep(
  deps: ReconcileDeps,
  view: RentalView,
  name: ProvisioningStepName,
): Promise<void> {
  await withSameTask(deps, view, 'begin step', (tx, { rental }) =>
    startProvisioningStepIfNew(tx, rental, name),
  );
}

/** Retries transient failures; a permanent failure ends the attempt. */
export async function handleMachineFailure(
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
  error: unknown,
  why: string,
): Promise<void> {
  const failure = engineFailureOf(error);
  const isFinal = error instanceof MachineNotUsable ? error.isFinal : failure.isFinal;
  deps.log.warn(
    { rentalId: view.rental.id, externalId: machine.externalId, nodeId: machine.nodeId, err: error, isFinal },
    'provisioning of a machine failed',
  );
  if (!isFinal) return scheduleRetry(deps, machine, failure);
  // An image that no host supports is not a fault of this host.
  await abandonAttempt(deps, view, why, { atFault: isDriverError(error, 'unsupported') ? [] : [machine] });
}

/**
 * Ends a failed attempt and marks its machines for deletion. Moves once to another host; if that is not possible, the rental
 * fails and costs nothing.
 */
export async function abandonAttempt(
  deps: ReconcileDeps,
  view: RentalView,
  why: string,
  options: { readonly atFault?: readonly RentalMachine[]; readonly mayMove?: boolean } = {},
): Promise<void> {
  const { atFault = unfinishedMachines(view) } = options;
  await withSameTask(deps, view, 'give up attempt', async (tx, current) => {
    const { rental } = current;
    await endRunningProvisioningStep(tx, rental.orgId, rental.id, { status: 'failed', message: why });
    const hosts = atFault.map(({ nodeId }) => nodeId);
    await recordNodeFaults(tx, hosts, { kind: 'start', rentalId: rental.id, reason: why });
    if (rental.startedAt !== null) return failStart(tx, current, why);
    // These machines lose their volumes in any case. Volume locks come before host locks.
    await refreshVolumeClients(tx, rental);
    await markMachinesTerminating(tx, rental.orgId, rental.id, {
      now: tx.clock.now(),
      attempt: rental.attempt,
    });
    if (rental.allocationId !== null) await markReleasing(tx, rental.orgId, rental.allocationId);
    const mayMove =
      options.mayMove !== false && rental.attempt === rental.firstAttempt && !isPinnedToHost(rental);
    const placement = mayMove ? await placeOnOtherHost(tx, current) : null;
    if (placement === null) await failRental(tx, current, why);
    else await moveRental(tx, deps, rental, placement);
  });
}

/** Machines that were not ready in time. A machine that was never tried is not a fault of its host. */
function unfinishedMachines(view: RentalView): readonly RentalMachine[] {
  return currentMachinesOf(view).filter(
    ({ state, tries }) => (state === 'wanted' || state === 'made') && tries > 0,
  );
}

/** Null if no other host has capacity. */
async function placeOnOtherHost(tx: Tx, view: RentalView): Promise<Placement | null> {
  const except = currentMachinesOf(view).map(({ nodeId }) => nodeId);
  const freesAt = view.terms.findLast(({ endsAt }) => endsAt !== null)?.endsAt ?? view.rental.expiresAt;
  try {
    return await place(tx, toPlacementRequest(view.rental, { except, freesAt }));
  } catch (error) {
    if (isFault(error)) return null;
    throw error;
  }
}

async function moveRental(tx: Tx, deps: ReconcileDeps, rental: Rental, placement: Placement): Promise<void> {
  const attempt = rental.attempt + 1;
  const { providerId, machines } = await machinesOfPlacement(tx, rental.orgId, rental, attempt, placement);
  await insertMachines(tx, rental.orgId, machines);
  const moved = await updateRentalAndEnqueue(
    tx,
    rental,
    {
      attempt,
      providerId,
      allocationId: placement.allocationId,
      taskDeadlineAt: new Date(tx.clock.nowMs() + attemptTimeoutMsOf(rental, deps.policy)),
    },
    rentalsActor,
  );
  await emitRentalEvent(tx, moved, { type: 'rental.pending', actor: rentalsActor });
}
