import { loginAndCount, type ProofLook, type SshTarget } from '@millrace/compute/proof';
import type { ComputeDriver, MachineView } from '@millrace/compute';
import { askEngine, failureOf, tryLater, type DriveParts } from './drive-parts.ts';
import { sshPortOf } from './machine-wish.ts';
import { advance, failed, NotUsable, openProofKey } from './provision.acts.ts';
import type { RentalMachine, RentalView } from './rental.ts';

/** How a machine is proven usable: the platform logs in with a key of this machine alone and counts what was sold. */

interface Proof {
  readonly address: string;
  readonly privateIp: string | null;
  readonly sshUser: string;
  readonly hostKey: string;
}

/** Most machines are up within so many looks; those that take longer are looked at less often. */
const QUICK_LOOKS = 40;

export async function proveMachine(
  parts: DriveParts,
  view: RentalView,
  machine: RentalMachine,
  signal: AbortSignal,
): Promise<void> {
  let proof: Proof;
  try {
    const driver = await parts.drivers(machine.clusterId);
    const options = { what: 'Proving a machine', timeoutMs: parts.policy.callTimeoutMs, signal };
    proof = await askEngine(parts, view.rental, options, (end) => prove(parts, machine, driver, end));
  } catch (error) {
    if (error instanceof NotUsable && !error.isFinal) {
      const { pollMs, firstRetryMs } = parts.policy;
      const afterMs = machine.tries < QUICK_LOOKS ? pollMs : firstRetryMs;
      return tryLater(parts, machine, failureOf(error), { afterMs });
    }
    const why = error instanceof NotUsable ? error.message : 'The machine could not be proven usable.';
    return failed(parts, view, machine, error, why);
  }
  await advance(parts, view, machine, { state: 'proven', ...proof }, 'open');
}

async function prove(
  parts: DriveParts,
  machine: RentalMachine,
  driver: ComputeDriver,
  signal: AbortSignal,
): Promise<Proof> {
  const key = openProofKey(parts, machine);
  const port = sshPortOf(machine);
  if (key === null || port === null) {
    throw new NotUsable('It cannot be proven: it has no key or no port.', true);
  }
  const { address, privateIps, sshUser } = await see(driver, machine, signal);
  if (address === null) throw new NotUsable('The machine has no address yet.', false);
  const { hostKey } = machine;
  const target = { host: address, port, user: sshUser, privateKey: key.privateKey, hostKey };
  const look = await logIn(parts, target, signal);
  if (look.outcome === 'wrong-host-key') throw new NotUsable('The machine shows another host key.', true);
  if (look.outcome !== 'in') throw new NotUsable(look.detail, false);
  const sold = machine.gpuAddresses.length;
  if (look.gpuCount !== sold) {
    // Fewer may be drivers that are still loading.
    const isFinal = look.gpuCount > sold || machine.tries >= parts.policy.gpuLooks;
    throw new NotUsable(`The machine has ${look.gpuCount} GPUs where ${sold} were sold.`, isFinal);
  }
  return { address, sshUser, privateIp: privateIps[0] ?? null, hostKey: look.hostKey };
}

/** One that is off was not started to the end, or not at all: started once more, it is on or its engine says why not. */
async function see(driver: ComputeDriver, machine: RentalMachine, signal: AbortSignal): Promise<MachineView> {
  const seen = await driver.describe(machine, signal);
  if (seen === null) throw new NotUsable('The machine is gone.', true);
  if (seen.power === 'error') throw new NotUsable('The machine did not boot.', true);
  if (seen.power === 'off') await driver.start(machine, signal);
  return seen;
}

/** Machines let somebody in sooner than engines call them on, so they are asked for a while, and often. */
async function logIn(parts: DriveParts, target: SshTarget, signal: AbortSignal): Promise<ProofLook> {
  const { clock } = parts;
  const { lookForMs, lookAgainMs } = parts.policy;
  const untilMs = clock.monotonicMs() + lookForMs;
  for (;;) {
    const look = await loginAndCount(target, signal);
    if (look.outcome !== 'not-yet' || clock.monotonicMs() + lookAgainMs > untilMs) return look;
    await clock.sleep(lookAgainMs, signal);
  }
}
