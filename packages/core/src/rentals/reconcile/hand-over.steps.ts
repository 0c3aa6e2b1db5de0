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
 * Hands a verified rental over to its tenant: ports, keys, user data, then Running. Billing starts with Running, so a tenant with
 * access must not be able to delay it: granted access is recorded before user data runs, and user data is offered once before
 * Running and again after it.
 */
export async function handOverRental(
  deps: ReconcileDeps,
  view: RentalView,
  signal: AbortSignal,
): Promise<void> {
  const { rental } = view;
  const machines = currentMachinesOf(view).filter(({ state }) => state === 'proven');
  const options = { what: 'Handing a machine over', timeoutMs: deps.policy.createTimeoutMs, signal };
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
  // A rental that ran before does not fail because of user data that never started.
  if (offered?.isImpossible === true && rental.startedAt === null) {
    return handleMachineFailure(
      deps,
      view,
      offered.machine,
      offered.error,
      'The image cannot run this user data. Choose another image or other user data.',
    );
  }
  await withSameTask(deps, view, 'enter running', async (tx, current) => {
    await startRunning(tx, current, { isUserDataLeft: offered !== null });
  });
}

/** Limited tries: a tenant with access could keep the platform out and use the machine unbilled. */
async function handOverFailed(
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
  error: unknown,
): Promise<void> {
  const why = 'The machine could not be handed over.';
  const isTooOften = machine.tries >= deps.policy.openTries;
  return handleMachineFailure(deps, view, machine, isTooOften ? new MachineNotUsable(why, true) : error, why);
}

/** `hasStarted`: its user data is already running. */
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

/** For engines that cannot run user data: the platform's last SSH session starts it. Returns whether it started. */
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
    throw new DriverError('unsupported', 'This user data needs cloud-init, which the image does not have.');
  }
  return handed.outcome === 'replaced' && handed.hasStarted;
}

/**
 * Replaces the readiness key by the tenant's keys and checks that it is refused. Uses SSH, which works on every engine and during
 * the start. If SSH cannot replace the keys, the engine does, if it can.
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
    throw new MachineNotUsable('The machine has not passed its readiness check.', true);
  }
  const target = { host: address, port, user: sshUser, privateKey: key.privateKey, hostKey };
  return guard === undefined ? target : { ...target, guard };
}

/** If an earlier try already replaced the keys, the readiness key is refused here too. */
async function requirePlatformKeyRefused(target: SshTarget, signal: AbortSignal): Promise<void> {
  if ((await isKeyRejected(target, signal)) === 'refused') return;
  throw new MachineNotUsable('The removal of the readiness key could not be confirmed.', false);
}

/** Recorded per machine, whatever happens to the other machines. */
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

class UnsupportedUserData extends DriverError {
  constructor(cause: DriverError) {
    super('unsupported', cause.message, { cause });
  }
}

/** Only an engine that runs user data inside machines can report that an image does not support it. */
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
  /** No machine has started the user data, and none ever can. */
  readonly isImpossible: boolean;
}

/** Null if every machine has started its user data. */
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

/** Billing starts here. */
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

/** Retries user data that did not start before Running. After the last try the status reason informs the tenant. */
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
      'user data could not be started; it will be retried',
    );
    const isOver = engineFailureOf(error).isFinal || machine.tries >= deps.policy.userDataTries;
    if (!isOver) return scheduleRetry(deps, machine, engineFailureOf(error));
  }
  await withSameTask(deps, view, 'forget user data', async (tx, current) => {
    for (const machine of currentMachinesOf(current)) {
      await saveMachine(tx, machine, { tries: 0, nextTryAt: null, lastError: null });
    }
    const statusReason =
      unstarted === null ? current.rental.statusReason : 'The user data could not be started.';
    await updateRentalAndEnqueue(tx, current.rental, { userData: null, statusReason }, rentalsActor);
  });
}
