import { inChildSpan } from '@millrace/platform/telemetry';
import { loginAndCountGpus, type ReadinessResult, type SshTarget } from '@millrace/compute/readiness';
import type { ComputeDriver, MachineView } from '@millrace/compute';
import {
  callEngine,
  engineFailureOf,
  findUnchangedMachine,
  withSameTask,
  scheduleRetry,
  type ReconcileDeps,
  type RunMachineStep,
} from './reconcile-deps.ts';
import { verificationPorts, sshPortOf } from './machine-spec.ts';
import { saveMachine } from '../model/machines.store.ts';
import type { RentalPolicy } from '../model/policy.ts';
import {
  PrivateAddressTaken,
  advanceMachine,
  handleMachineFailure,
  MachineNotUsable,
  unsealKey,
} from './provisioning.steps.ts';
import { savePrivateAddress } from '../model/rental-volumes.ts';
import { failLostRental } from './lost-rental.ts';
import { type RentalMachine, type RentalView, rentalsActor } from '../model/rental.ts';
import { lockView } from '../model/rental-view.ts';

/** Runs the readiness check: logs in with the machine's one-time key and counts its GPUs. */

interface VerifiedAccess {
  readonly address: string;
  readonly privateIp: string | null;
  readonly sshUser: string;
  readonly hostKey: string;
  readonly starting: boolean;
}

/** Most machines are ready within these checks; the later ones are less frequent. */
const FIRST_CHECKS = 3;
const FREQUENT_CHECKS = 40;
/** After this many failed checks of a machine that is on, its ports are opened again. */
const REOPEN_PORTS_EVERY = 20;

/** An SSH server responds but does not know the key yet. */
class LoginRefused extends MachineNotUsable {
  constructor(message: string) {
    super(message, false);
  }
}

/** Not counted as a try, because the machine could not be checked. */
class DeployRunning extends MachineNotUsable {
  constructor() {
    super('The deploy is still in progress.', false);
  }
}

function nextCheckMs(machine: RentalMachine, why: MachineNotUsable, policy: RentalPolicy): number {
  if (why instanceof LoginRefused) return policy.refusedMs;
  if (why instanceof DeployRunning) return policy.firstRetryMs;
  return machine.tries < FREQUENT_CHECKS ? policy.pollMs : policy.firstRetryMs;
}

export const verifyMachine: RunMachineStep = async (deps, view, machine, signal) => {
  let proof: VerifiedAccess;
  try {
    const driver = await deps.drivers(machine.clusterId);
    const options = { what: 'The readiness check', timeoutMs: deps.policy.callTimeoutMs, signal };
    proof = await callEngine(deps, view.rental, options, (end) => verifyAccess(deps, machine, driver, end));
  } catch (error) {
    if (error instanceof MachineNotUsable && !error.isFinal) {
      const afterMs = nextCheckMs(machine, error, deps.policy);
      const isCounted = !(error instanceof DeployRunning);
      return scheduleRetry(deps, machine, engineFailureOf(error), { afterMs, isCounted });
    }
    const why = error instanceof MachineNotUsable ? error.message : 'The readiness check failed.';
    return handleMachineFailure(deps, view, machine, error, why);
  }
  try {
    await advanceMachine(deps, view, machine, { state: 'proven', ...proof }, 'open');
  } catch (error) {
    if (!(error instanceof PrivateAddressTaken)) throw error;
    // The machine that has the address may be about to be deleted. Otherwise the attempt ends at its deadline.
    const { rentalId, externalId, nodeId } = machine;
    const { privateIp } = proof;
    deps.log.error(
      { rentalId, externalId, nodeId, privateIp },
      'private address is in use by another machine',
    );
    await scheduleRetry(deps, machine, { isFinal: false, message: error.message });
  }
};

async function verifyAccess(
  deps: ReconcileDeps,
  machine: RentalMachine,
  driver: ComputeDriver,
  signal: AbortSignal,
): Promise<VerifiedAccess> {
  const key = unsealKey(deps, machine);
  const port = sshPortOf(machine);
  if (key === null || port === null) {
    throw new MachineNotUsable('The machine has no readiness key or no SSH port.', true);
  }
  const { address, privateIps, sshUser, power } = await describeStarted(driver, machine, signal);
  // During the deploy of a whole node its installer may respond at the address, and the deploy can still fail.
  if (power !== 'on' && !driver.can.sharesNodes) throw new DeployRunning();
  if (address === null) throw new MachineNotUsable('The machine has no address yet.', false);
  // The platform installed this host key: another one belongs to a different server.
  const hostKey = machine.hostKey ?? key.hostKey?.fingerprint;
  if (hostKey === undefined)
    throw new MachineNotUsable('The machine was created without a known host key.', true);
  const guard = driver.guard === undefined ? {} : { guard: driver.guard };
  const target = { host: address, port, user: sshUser, privateKey: key.privateKey, hostKey, ...guard };
  const look = await inChildSpan('readiness check', { kind: 'client' }, async (span) => {
    const seen = await loginUntilDeadline(deps, machine, target, signal);
    span?.setAttribute('millrace.outcome', seen.outcome);
    return seen;
  });
  if (look.outcome === 'wrong-host-key')
    throw new MachineNotUsable('The machine presented an unexpected host key.', true);
  if (look.outcome === 'refused') throw new LoginRefused(look.detail);
  if (look.outcome !== 'in') {
    const isDue = power === 'on' && machine.tries > 0 && machine.tries % REOPEN_PORTS_EVERY === 0;
    if (isDue) await reopenPorts(driver, machine, verificationPorts(machine), signal);
    throw new MachineNotUsable(look.detail, false);
  }
  const sold = machine.gpuAddresses.length;
  if (look.gpuCount !== sold) {
    // With fewer GPUs the drivers may still be loading.
    const isFinal = look.gpuCount > sold || machine.tries >= deps.policy.gpuLooks;
    throw new MachineNotUsable(`The machine has ${look.gpuCount} GPUs instead of ${sold}.`, isFinal);
  }
  const privateIp = privateIps[0] ?? null;
  return { address, sshUser, privateIp, hostKey: look.hostKey, starting: power !== 'on' };
}

/** An engine that crashes during a start may leave a running machine without port listeners, and not notice later. */
export async function reopenPorts(
  driver: ComputeDriver,
  machine: RentalMachine,
  ports: RentalMachine['ports'],
  signal: AbortSignal,
): Promise<void> {
  if (!driver.can.mapsPorts) return;
  await driver.setPorts(machine, [], signal);
  await driver.setPorts(machine, ports, signal);
}

/** A machine that is off did not complete its start. Starting it again succeeds or makes the engine report the cause. */
async function describeStarted(
  driver: ComputeDriver,
  machine: RentalMachine,
  signal: AbortSignal,
): Promise<MachineView> {
  let seen = await driver.describe(machine, signal);
  if (seen?.power === 'off') {
    await driver.start(machine, signal);
    seen = await driver.describe(machine, signal);
  }
  if (seen === null) throw new MachineNotUsable('The engine does not have the machine.', true);
  if (seen.power === 'error') throw new MachineNotUsable('The machine did not boot.', true);
  return seen;
}

/** Some machines accept logins before their engine reports them on, so the first checks retry for a while. */
async function loginUntilDeadline(
  deps: ReconcileDeps,
  machine: RentalMachine,
  target: SshTarget,
  signal: AbortSignal,
): Promise<ReadinessResult> {
  const { clock } = deps;
  const { lookForMs, lookAgainMs } = deps.policy;
  const untilMs = clock.monotonicMs() + (machine.tries < FIRST_CHECKS ? lookForMs : 0);
  for (;;) {
    const look = await loginAndCountGpus(target, signal);
    if (look.outcome !== 'not-yet' || clock.monotonicMs() + lookAgainMs > untilMs) return look;
    await clock.sleep(lookAgainMs, signal);
  }
}

/**
 * Checks a Running machine whose engine start was still in progress. If the start fails after all, the host is at fault and
 * nothing usable was delivered. The inventory reconciler handles all later failures.
 */
export const confirmStart: RunMachineStep = async (deps, view, machine, signal) => {
  let seen: MachineView;
  try {
    const driver = await deps.drivers(machine.clusterId);
    const options = { what: 'Confirming a start', timeoutMs: deps.policy.callTimeoutMs, signal };
    seen = await callEngine(deps, view.rental, options, (end) => describeStarted(driver, machine, end));
  } catch (error) {
    const failure = engineFailureOf(error);
    if (!failure.isFinal) return scheduleRetry(deps, machine, failure);
    deps.log.warn(
      { rentalId: view.rental.id, externalId: machine.externalId, err: error },
      'start failed after the hand-over',
    );
    return failUnfinishedStart(deps, view, machine);
  }
  if (seen.power !== 'on') {
    const failure = { isFinal: false, message: 'The start is still in progress.' };
    const isSoon = machine.tries < FREQUENT_CHECKS;
    return scheduleRetry(deps, machine, failure, isSoon ? { afterMs: deps.policy.pollMs } : {});
  }
  await deps.db.transaction({ name: 'note start', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    const same = current === null ? null : findUnchangedMachine(current, machine);
    if (same === null) return;
    await saveMachine(tx, same, { starting: false, tries: 0, nextTryAt: null, lastError: null });
    const [privateIp] = seen.privateIps;
    if (same.privateIp === null && privateIp !== undefined)
      await savePrivateAddress(tx, view.rental, same, privateIp);
  });
};

async function failUnfinishedStart(
  deps: ReconcileDeps,
  view: RentalView,
  machine: RentalMachine,
): Promise<void> {
  await withSameTask(deps, view, 'lose start', async (tx, current) => {
    if (findUnchangedMachine(current, machine)?.starting !== true) return;
    await failLostRental(tx, current, {
      at: current.rental.startedAt ?? tx.clock.now(),
      why: 'The host could not complete the start of the machine.',
      actor: rentalsActor,
    });
  });
}
