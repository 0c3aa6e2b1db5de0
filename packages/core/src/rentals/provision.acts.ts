import {
  keyIsRefused,
  loginAndCount,
  newProofKey,
  replaceKeysOverSsh,
  type ProofKey,
  type SshTarget,
} from '@millrace/compute/proof';
import type { ComputeDriver } from '@millrace/compute';
import type { Tx } from '@millrace/platform/db';
import { isFault } from '@millrace/platform/fault';
import { findCluster, markReleasing, place, type Placement } from '../fleet/index.ts';
import {
  askEngine,
  failureOf,
  rentalsActor,
  sameMachine,
  sameTask,
  tryLater,
  type DriveParts,
} from './drive-parts.ts';
import { imageOf, proofPorts, sshPortOf, wishOf } from './machine-wish.ts';
import { doomMachines, insertMachines, saveMachine, type MachineChanges } from './machines.store.ts';
import { failRental, failStart, openBilling } from './money.service.ts';
import { changeRental, moveRental, tellOfRental } from './move.ts';
import { machinesOfPlacement, placementWishOf } from './placing.ts';
import { machinesOf, type Rental, type RentalMachine, type RentalView } from './rental.ts';
import { nextStep, type StepName } from './step-list.ts';
import { endRunningStep } from './steps.store.ts';
import { lockView } from './views.ts';

/** How a machine comes up: made, proven usable with a key that nobody keeps, and only then opened to its tenant. */

const sealPlace = (machine: RentalMachine) =>
  ({ table: 'rental_machines', column: 'proof_key', rowId: machine.externalId }) as const;

function openProofKey(parts: DriveParts, machine: RentalMachine): ProofKey | null {
  if (machine.proofKey === null) return null;
  return JSON.parse(parts.sealer.open(machine.proofKey, sealPlace(machine))) as ProofKey;
}

/**
 * The one-time key of this machine, written down before the engine hears of it: whoever goes on after a crash proves
 * with the same one. Null: the rental has moved on.
 */
async function takeProofKey(
  parts: DriveParts,
  view: RentalView,
  machine: RentalMachine,
): Promise<ProofKey | null> {
  return parts.db.transaction({ name: 'take proof key', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    const same = current === null ? null : sameMachine(current, machine);
    if (current === null || same === null) return null;
    await nextStep(tx, current.rental, 'create');
    const known = openProofKey(parts, same);
    if (known !== null) return known;
    const made = newProofKey();
    await saveMachine(tx, same, { proofKey: parts.sealer.seal(JSON.stringify(made), sealPlace(same)) });
    return made;
  });
}

/** Writes down that a machine has come further, and begins the next step once all have. */
async function advance(
  parts: DriveParts,
  view: RentalView,
  machine: RentalMachine,
  changes: MachineChanges,
  next: StepName,
): Promise<void> {
  await parts.db.transaction({ name: 'advance machine', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current === null || sameMachine(current, machine) === null) return;
    await saveMachine(tx, machine, { tries: 0, nextTryAt: null, lastError: null, ...changes });
    const isLast = machinesOf(current).every(
      (other) => other.externalId === machine.externalId || other.state !== machine.state,
    );
    if (isLast) await nextStep(tx, current.rental, next);
  });
}

export async function createMachine(
  parts: DriveParts,
  view: RentalView,
  machine: RentalMachine,
  signal: AbortSignal,
): Promise<void> {
  const { rental } = view;
  const key = await takeProofKey(parts, view, machine);
  if (key === null) return;
  try {
    const cluster = await findCluster(parts.db, machine.clusterId);
    if (cluster === null) throw new Error(`Cluster ${machine.clusterId} is not there.`);
    const wish = wishOf(rental, machine, { image: imageOf(rental, cluster), platformKey: key.publicKey });
    const driver = await parts.drivers(machine.clusterId);
    const options = { what: 'Creating a machine', timeoutMs: parts.policy.createTimeoutMs, signal };
    await askEngine(parts, rental, options, (end) => driver.create(wish, end));
  } catch (error) {
    return failed(parts, view, machine, error, 'The host could not make the machine.');
  }
  await advance(parts, view, machine, { state: 'made' }, 'prove');
}

/** A machine that was stopped and had given its GPUs back: other GPUs, power, and a new key to prove it with. */
export async function reviveMachine(
  parts: DriveParts,
  view: RentalView,
  machine: RentalMachine,
  signal: AbortSignal,
): Promise<void> {
  const key = await takeProofKey(parts, view, machine);
  if (key === null) return;
  try {
    const driver = await parts.drivers(machine.clusterId);
    const options = { what: 'Reviving a machine', timeoutMs: parts.policy.createTimeoutMs, signal };
    await askEngine(parts, view.rental, options, async (end) => {
      const now = await driver.describe(machine, end);
      if (now?.power !== 'on') await driver.setGpus(machine, machine.gpuAddresses, end);
      await driver.setPorts(machine, proofPorts(machine), end);
      await driver.start(machine, end);
      await driver.setKeys(machine, [key.publicKey], end);
    });
  } catch (error) {
    return failed(parts, view, machine, error, 'The host could not start the machine.');
  }
  await advance(parts, view, machine, { state: 'made' }, 'prove');
}

interface Look {
  readonly address: string;
  readonly privateIp: string | null;
  readonly sshUser: string;
  readonly hostKey: string;
}

/** Most machines are up within so many looks; those that take longer are looked at less often. */
const QUICK_LOOKS = 40;

/** What a proof can come to besides success. */
class NotUsable extends Error {
  readonly isFinal: boolean;
  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** Logs in as the platform, counts what was sold, takes the key away and sees that it is refused. */
async function prove(
  parts: DriveParts,
  machine: RentalMachine,
  driver: ComputeDriver,
  signal: AbortSignal,
): Promise<Look> {
  const key = openProofKey(parts, machine);
  const port = sshPortOf(machine);
  if (key === null || port === null)
    throw new NotUsable('It cannot be proven: it has no key or no port.', true);
  const seen = await driver.describe(machine, signal);
  if (seen === null) throw new NotUsable('The machine is gone.', true);
  if (seen.power === 'error') throw new NotUsable('The machine did not boot.', true);
  if (seen.power !== 'on' || seen.address === null) throw new NotUsable('The machine is not on yet.', false);
  const target = {
    host: seen.address,
    port,
    user: seen.sshUser,
    privateKey: key.privateKey,
    hostKey: machine.hostKey,
  };
  const look = await loginAndCount(target, signal);
  if (look.outcome === 'wrong-host-key') throw new NotUsable('The machine shows another host key.', true);
  if (look.outcome !== 'in') {
    await offerKeyAgain(driver, machine, { target, key }, signal);
    throw new NotUsable(look.detail, false);
  }
  const sold = machine.gpuAddresses.length;
  if (look.gpuCount !== sold) {
    // Fewer may be drivers that are still loading.
    const isFinal = look.gpuCount > sold || machine.tries >= parts.policy.gpuLooks;
    throw new NotUsable(`The machine has ${look.gpuCount} GPUs where ${sold} were sold.`, isFinal);
  }
  const found = { address: seen.address, privateIp: seen.privateIps[0] ?? null, sshUser: seen.sshUser };
  if (driver.can.setKeys) {
    await driver.setKeys(machine, [], signal);
    const refusal = await keyIsRefused({ ...target, hostKey: look.hostKey }, signal);
    if (refusal !== 'refused') throw new NotUsable('The platform key could not be taken away yet.', false);
  }
  return { ...found, hostKey: look.hostKey };
}

/** Whoever proved it before us may have taken the key away and died before writing that down. */
async function offerKeyAgain(
  driver: ComputeDriver,
  machine: RentalMachine,
  { target, key }: { readonly target: SshTarget; readonly key: ProofKey },
  signal: AbortSignal,
): Promise<void> {
  if (!driver.can.setKeys || (await keyIsRefused(target, signal)) !== 'refused') return;
  await driver.setKeys(machine, [key.publicKey], signal);
}

export async function proveMachine(
  parts: DriveParts,
  view: RentalView,
  machine: RentalMachine,
  signal: AbortSignal,
): Promise<void> {
  let look: Look;
  let keepsKey: boolean;
  try {
    const driver = await parts.drivers(machine.clusterId);
    const options = { what: 'Proving a machine', timeoutMs: parts.policy.callTimeoutMs, signal };
    look = await askEngine(parts, view.rental, options, (end) => prove(parts, machine, driver, end));
    keepsKey = !driver.can.setKeys;
  } catch (error) {
    if (error instanceof NotUsable && !error.isFinal) {
      const { pollMs, firstRetryMs } = parts.policy;
      const afterMs = machine.tries < QUICK_LOOKS ? pollMs : firstRetryMs;
      return tryLater(parts, machine, failureOf(error), { afterMs });
    }
    const why = error instanceof NotUsable ? error.message : 'The machine could not be proven usable.';
    return failed(parts, view, machine, error, why);
  }
  const proven = { state: 'proven', ...look, ...(keepsKey ? {} : { proofKey: null }) } as const;
  await advance(parts, view, machine, proven, 'open');
}

/** The tenant's keys, ports and user data, in the step just before Running. */
async function letIn(
  parts: DriveParts,
  rental: Rental,
  machine: RentalMachine,
  signal: AbortSignal,
): Promise<void> {
  const driver = await parts.drivers(machine.clusterId);
  const key = openProofKey(parts, machine);
  if (key === null) await driver.setKeys(machine, rental.sshKeys, signal);
  else await handOverBySsh(machine, key, rental.sshKeys, signal);
  if (machine.ports.length > 1) await driver.setPorts(machine, machine.ports, signal);
  if (rental.userData !== null) await driver.runUserData(machine, rental.userData, signal);
}

/** Engines that cannot reach inside: the platform's own session puts the tenant's keys in its place. */
async function handOverBySsh(
  machine: RentalMachine,
  { privateKey }: ProofKey,
  keys: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const port = sshPortOf(machine);
  const { address, sshUser, hostKey } = machine;
  if (port === null || address === null || sshUser === null) throw new Error('It was not proven.');
  const target = { host: address, port, user: sshUser, privateKey, hostKey };
  // Where an earlier try got this far, the key is refused already.
  if ((await keyIsRefused(target, signal)) === 'accepted') {
    const { outcome } = await replaceKeysOverSsh(target, keys, signal);
    if (outcome !== 'replaced') throw new Error('The keys of the tenant could not be put in yet.');
  }
  if ((await keyIsRefused(target, signal)) !== 'refused') {
    throw new Error('The platform key could not be taken away yet.');
  }
}

export async function openRental(parts: DriveParts, view: RentalView, signal: AbortSignal): Promise<void> {
  const { rental } = view;
  const machines = machinesOf(view);
  const options = { what: 'Letting the tenant in', timeoutMs: parts.policy.createTimeoutMs, signal };
  const outcomes = await Promise.allSettled(
    machines.map((machine) => askEngine(parts, rental, options, (end) => letIn(parts, rental, machine, end))),
  );
  for (const [index, outcome] of outcomes.entries()) {
    const machine = machines[index];
    if (outcome.status === 'fulfilled' || machine === undefined) continue;
    return failed(parts, view, machine, outcome.reason, 'The machine could not be opened to its tenant.');
  }
  await parts.db.transaction({ name: 'enter running', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, rental);
    if (current === null || !sameTask(current.rental, rental)) return;
    await enterRunning(tx, current);
  });
}

/** From this instant it costs. */
async function enterRunning(tx: Tx, view: RentalView): Promise<void> {
  const { rental } = view;
  const now = tx.clock.now();
  for (const machine of machinesOf(view)) {
    await saveMachine(tx, machine, {
      state: 'open',
      proofKey: null,
      tries: 0,
      nextTryAt: null,
      lastError: null,
    });
  }
  await endRunningStep(tx, rental.orgId, rental.id, { status: 'done' });
  const startedAt = rental.startedAt ?? now;
  const running = await moveRental(tx, rental, {
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
      userData: null,
    },
    data: { startedAt: startedAt.toISOString() },
  });
  await openBilling(tx, { ...view, rental: running }, now);
}

/** What may pass is tried again; what will not ends the attempt. */
async function failed(
  parts: DriveParts,
  view: RentalView,
  machine: RentalMachine,
  error: unknown,
  why: string,
): Promise<void> {
  const failure = failureOf(error);
  const isFinal = error instanceof NotUsable ? error.isFinal : failure.isFinal;
  parts.log.warn(
    { rentalId: view.rental.id, externalId: machine.externalId, nodeId: machine.nodeId, err: error, isFinal },
    'a machine is not usable yet',
  );
  if (!isFinal) return tryLater(parts, machine, failure);
  await giveUp(parts, view, why);
}

/**
 * The attempt has failed. Its machines are removed whatever comes next; one other host is tried, and if there is none,
 * or it was tried already, the rental has failed and costs nothing.
 */
export async function giveUp(parts: DriveParts, view: RentalView, why: string): Promise<void> {
  await parts.db.transaction({ name: 'give up attempt', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current === null || !sameTask(current.rental, view.rental)) return;
    const { rental } = current;
    await endRunningStep(tx, rental.orgId, rental.id, { status: 'failed', message: why });
    if (rental.startedAt !== null) return failStart(tx, current, why);
    await doomMachines(tx, rental.orgId, rental.id, { now: tx.clock.now(), attempt: rental.attempt });
    if (rental.allocationId !== null) await markReleasing(tx, rental.orgId, rental.allocationId);
    const elsewhere = rental.attempt === rental.firstAttempt ? await placeElsewhere(tx, current) : null;
    if (elsewhere === null) await failRental(tx, current, why);
    else await moveTo(tx, parts, rental, elsewhere);
  });
}

/** Null: no other host has room. */
async function placeElsewhere(tx: Tx, view: RentalView): Promise<Placement | null> {
  const except = machinesOf(view).map(({ nodeId }) => nodeId);
  const freesAt = view.terms.findLast(({ endsAt }) => endsAt !== null)?.endsAt ?? view.rental.expiresAt;
  try {
    return await place(tx, placementWishOf(view.rental, { except, freesAt }));
  } catch (error) {
    if (isFault(error)) return null;
    throw error;
  }
}

async function moveTo(tx: Tx, parts: DriveParts, rental: Rental, placement: Placement): Promise<void> {
  const attempt = rental.attempt + 1;
  const { providerId, machines } = await machinesOfPlacement(tx, rental.orgId, rental, attempt, placement);
  await insertMachines(tx, rental.orgId, machines);
  const moved = await changeRental(
    tx,
    rental,
    {
      attempt,
      providerId,
      allocationId: placement.allocationId,
      taskDeadlineAt: new Date(tx.clock.nowMs() + parts.policy.attemptMs),
    },
    rentalsActor,
  );
  await tellOfRental(tx, moved, { type: 'rental.pending', actor: rentalsActor });
}
