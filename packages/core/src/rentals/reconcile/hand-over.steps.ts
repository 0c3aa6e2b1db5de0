import { DriverError, isDriverError, type ComputeDriver } from '@millrace/compute';
import {
  handOverOverSsh,
  isKeyRejected,
  replaceKeysOverSsh,
  type SshTarget,
} from '@millrace/compute/readiness';
import type { Tx } from '@millrace/platform/db';
import {
  callEngine,
  engineFailureOf,
  withSameTask,
  scheduleRetry,
  type ReconcileDeps,
} from './reconcile-deps.ts';
import { sshPortOf } from './machine-spec.ts';
import { saveMachine } from '../model/machines.store.ts';
import { startBilling } from '../money/rental-billing.service.ts';
import { updateRentalAndEnqueue, transitionRental } from '../model/rental-transitions.ts';
import { handleMachineFailure, MachineNotUsable, unsealKey } from './provisioning.steps.ts';
import { currentMachinesOf, type RentalMachine, type RentalView, rentalsActor } from '../model/rental.ts';
import { endRunningProvisioningStep } from '../model/provisioning-steps.store.ts';
import { refreshVolumeClients } from '../model/rental-volumes.ts';

/**
 * How a proven rental is handed to its tenant: ports, keys, user data, and Running. A tenant that has been let in must not
 * be able to hold Running up, for it pays only from then on: that it is in is written down before anything of it runs, and
 * user data is offered once before Running and again after it.
 */
export async function handOverRental(
  deps: ReconcileDeps,
  view: RentalView,
  signal: AbortSignal,
): Promise<void> {
  const { rental } = view;
  const machines = currentMachinesOf(view).filter(({ state }) => state === 'proven');
  const options = { what: 'Letting the tenant in', timeoutMs: deps.policy.createTimeoutMs, signal };
  const outcomes = await Promise.allSettled(
    machines.map((machine) =>
      callEngine(deps, rental, options, (end) => grantAccess(deps, view, machine, end)),
    ),
  );
  const isIn = (machine: RentalMachine): boolean =>
    outcomes[machines.indexOf(machine)]?.status === 'fulfilled';
  const refused = outcomes.findIndex(({ status }) => status === 'rejected');
  if (refused >= 0 || rental.userData !== null) await recordAccessGranted(deps, view, machines.filter(isIn));
  const [machine, outcome] = [machines[refused], outcomes[refused]];
  if (machine !== undefined && outcome?.status === 'rejected') {
    return handOverFailed(deps, view, machine, outcome.reason);
  }
  const started = machines.filter((_, index) => {
    const outcome = outcomes[index];
    return outcome?.status === 'fulfilled' && outcome.value.hasStarted;
  });
  const offered = rental.userData === null ? null : await runUserDataOnMachines(deps, view, signal, started);
  // One that ran before is not lost for a text that it never took.
  if (offered?.isImpossible === true && rental.startedAt === null) {
    return handleMachineFailure(
      deps,
      view,
      offered.machine,
      offered.error,
      'The image cannot carry out this user data.',
    );
  }
  await withSameTask(deps, view, 'enter running', async (tx, current) => {
    await startRunning(tx, current, { isUserDataLeft: offered !== null });
  });
}

/** A tenant that is in already could keep us out: it is not left in there for long without paying. */
async function handOverFailed(
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
  error: unknown,
): Promise<void> {
  const why = 'The machine could not be opened to its tenant.';
  const isTooOften = machine.tries >= deps.policy.openTries;
  return handleMachineFailure(deps, view, machine, isTooOften ? new MachineNotUsable(why, true) : error, why);
}

/** `hasStarted`: its user data is running already. */
async function grantAccess(
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
  signal: AbortSignal,
): Promise<{ readonly hasStarted: boolean }> {
  const { sshKeys, userData } = view.rental;
  const driver = await deps.drivers(machine.clusterId);
  if (machine.ports.length > 1) await driver.setPorts(machine, machine.ports, signal);
  if (userData !== null && !driver.can.runUserData) {
    const target = sshTargetOf(deps, driver, machine);
    if (await replaceKeysWithUserData(deps, view, { machine, userData, target }, signal))
      return { hasStarted: true };
  }
  await replaceKeys(deps, driver, machine, sshKeys, signal);
  return { hasStarted: false };
}

/** Of an engine that starts nothing inside: the platform's session does, before it is gone for good. True: it has. */
async function replaceKeysWithUserData(
  deps: ReconcileDeps,
  view: RentalView,
  options: { readonly machine: RentalMachine; readonly userData: string; readonly target: SshTarget },
  signal: AbortSignal,
): Promise<boolean> {
  const { machine, userData, target } = options;
  const first = async (): Promise<void> => {
    await requirePlatformKeyRefused(target, signal);
    await recordAccessGranted(deps, view, [machine]);
  };
  const handed = await handOverOverSsh(target, { keys: view.rental.sshKeys, userData, first }, signal);
  if (handed.outcome === 'unsupported') {
    throw new DriverError('unsupported', 'The image has no cloud-init, for which this user data is.');
  }
  return handed.outcome === 'replaced' && handed.hasStarted;
}

/**
 * The tenant's keys take the place of the platform's, and the platform sees that its own is refused. It does so over its
 * own session: that works on every engine, and also while the engine is still busy with the start. Where nothing inside
 * takes them the engine puts them in, if it can.
 */
async function replaceKeys(
  deps: ReconcileDeps,
  driver: ComputeDriver,
  machine: RentalMachine,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const target = sshTargetOf(deps, driver, machine);
  const { outcome } = await replaceKeysOverSsh(target, keys, signal);
  if (outcome !== 'replaced' && driver.can.setKeys) await driver.setKeys(machine, keys, signal);
  await requirePlatformKeyRefused(target, signal);
}

function sshTargetOf(deps: ReconcileDeps, { guard }: ComputeDriver, machine: RentalMachine): SshTarget {
  const key = unsealKey(deps, machine);
  const port = sshPortOf(machine);
  const { address, sshUser, hostKey } = machine;
  if (key === null || port === null || address === null || sshUser === null || hostKey === null) {
    throw new MachineNotUsable('It was not proven.', true);
  }
  const target = { host: address, port, user: sshUser, privateKey: key.privateKey, hostKey };
  return guard === undefined ? target : { ...target, guard };
}

/** Where an earlier try got as far as to replace the keys, ours is refused already. */
async function requirePlatformKeyRefused(target: SshTarget, signal: AbortSignal): Promise<void> {
  if ((await isKeyRejected(target, signal)) === 'refused') return;
  throw new MachineNotUsable('The platform key could not be taken away yet.', false);
}

/** They are open to their tenant, whatever becomes of the others. */
async function recordAccessGranted(
  deps: ReconcileDeps,
  view: RentalView,
  machines: readonly RentalMachine[],
): Promise<void> {
  if (machines.length === 0) return;
  await withSameTask(deps, view, 'note let in', async (tx) => {
    for (const machine of machines) await saveMachine(tx, machine, openedFields);
  });
}

const openedFields = { state: 'open', proofKey: null, tries: 0, nextTryAt: null, lastError: null } as const;

/** Nothing in the machine could ever start the text. */
class UnsupportedUserData extends DriverError {
  constructor(cause: DriverError) {
    super('unsupported', cause.message, { cause });
  }
}

/** An engine that starts nothing inside says nothing about what could be started there. */
async function runUserData(
  driver: ComputeDriver,
  machine: RentalMachine,
  userData: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await driver.runUserData(machine, userData, signal);
  } catch (error) {
    const isInside = driver.can.runUserData && isDriverError(error, 'unsupported');
    throw isInside ? new UnsupportedUserData(error) : error;
  }
}

interface UserDataFailure {
  readonly machine: RentalMachine;
  readonly error: unknown;
  /** Nothing in it could ever start such a text, and nothing of it is in any machine. */
  readonly isImpossible: boolean;
}

/** Null: every machine has started it. */
async function runUserDataOnMachines(
  deps: ReconcileDeps,
  view: RentalView,
  signal: AbortSignal,
  started: readonly RentalMachine[] = [],
): Promise<UserDataFailure | null> {
  const { rental } = view;
  const { userData } = rental;
  if (userData === null) return null;
  const machines = currentMachinesOf(view).filter(
    ({ position }) => !started.some((other) => other.position === position),
  );
  const options = { what: 'Starting user data', timeoutMs: deps.policy.callTimeoutMs, signal };
  const outcomes = await Promise.allSettled(
    machines.map(async (machine) => {
      const driver = await deps.drivers(machine.clusterId);
      await callEngine(deps, rental, options, (end) => runUserData(driver, machine, userData, end));
    }),
  );
  const isImpossible = outcomes.every(
    (outcome) => outcome.status === 'rejected' && outcome.reason instanceof UnsupportedUserData,
  );
  for (const [index, outcome] of outcomes.entries()) {
    const machine = machines[index];
    if (outcome.status === 'rejected' && machine !== undefined) {
      return { machine, error: outcome.reason, isImpossible };
    }
  }
  return null;
}

/** From this instant it costs. */
async function startRunning(
  tx: Tx,
  view: RentalView,
  { isUserDataLeft }: { readonly isUserDataLeft: boolean },
): Promise<void> {
  const { rental } = view;
  const now = tx.clock.now();
  for (const machine of currentMachinesOf(view)) await saveMachine(tx, machine, openedFields);
  await endRunningProvisioningStep(tx, rental.orgId, rental.id, { status: 'done' });
  const startedAt = rental.startedAt ?? now;
  const running = await transitionRental(tx, rental, {
    to: 'Running',
    reason: null,
    actor: rentalsActor,
    changes: {
      task: null,
      taskOptions: {},
      taskDeadlineAt: null,
      startedAt,
      power: 'on',
      gpuHeld: true,
      ...(isUserDataLeft ? {} : { userData: null }),
    },
    data: { startedAt: startedAt.toISOString() },
  });
  await refreshVolumeClients(tx, running);
  await startBilling(tx, { ...view, rental: running }, now);
}

/** User data that a machine did not take before Running. It is tried again for a while, and then the tenant is told. */
export async function runPendingUserData(
  deps: ReconcileDeps,
  view: RentalView,
  signal: AbortSignal,
): Promise<void> {
  const { rental } = view;
  const unstarted = await runUserDataOnMachines(deps, view, signal);
  if (unstarted !== null) {
    const { machine, error } = unstarted;
    deps.log.warn(
      { rentalId: rental.id, externalId: machine.externalId, err: error, tries: machine.tries },
      'user data was not started yet',
    );
    const isOver = engineFailureOf(error).isFinal || machine.tries >= deps.policy.userDataTries;
    if (!isOver) return scheduleRetry(deps, machine, engineFailureOf(error));
  }
  await withSameTask(deps, view, 'forget user data', async (tx, current) => {
    for (const machine of currentMachinesOf(current)) {
      await saveMachine(tx, machine, { tries: 0, nextTryAt: null, lastError: null });
    }
    const statusReason =
      unstarted === null ? current.rental.statusReason : 'The machine did not take its user data.';
    await updateRentalAndEnqueue(tx, current.rental, { userData: null, statusReason }, rentalsActor);
  });
}
