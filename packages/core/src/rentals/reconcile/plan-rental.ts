import type { OrderedStorage } from '../../volumes/index.ts';
import type { RentalPolicy } from '../model/policy.ts';
import {
  currentMachinesOf,
  type PrivateCloud,
  type Rental,
  type RentalMachine,
  type RentalView,
} from '../model/rental.ts';

/** Plans the next steps of one rental from its rows and the time. Pure, so any worker can resume after any crash. */

/** A step on one machine. The steps of a plan are independent of each other. */
export type MachineStep = {
  readonly do: 'create' | 'revive' | 'prove' | 'settle' | 'cut' | 'remove';
  readonly machine: RentalMachine;
};

export type PlanStep =
  | MachineStep
  /** All machines are verified: hand over, set Running, start billing. */
  | { readonly do: 'open' }
  /** The start date of a private cloud has come. */
  | { readonly do: 'hand over' }
  /** Retry user data that did not start before Running. */
  | { readonly do: 'user data' }
  /** The attempt timed out. */
  | { readonly do: 'give up'; readonly why: string }
  /** Another host would not help, because the volume is not available. */
  | { readonly do: 'fail'; readonly why: string }
  /** All machines are deleted. */
  | { readonly do: 'end' }
  | { readonly do: 'stop' | 'start' | 'reboot' }
  /** Execute the due action. */
  | { readonly do: 'carry out' };

export interface RentalPlan {
  /** May run concurrently. Empty: nothing to do before `wait`. */
  readonly steps: readonly PlanStep[];
  /** When to check again if there are no steps. Null after the end. */
  readonly wait: Date | null;
}

/** Inputs besides the rental's rows. */
export interface PlanContext {
  readonly now: Date;
  readonly policy: RentalPolicy;
  /** The next due action; null if there is none. */
  readonly due: { readonly at: Date } | null;
  /** Storage that was ordered with the rental. */
  readonly storage: OrderedStorage;
}

export function planRental(view: RentalView, around: PlanContext): RentalPlan {
  const { rental } = view;
  const removal = planDeletions(view, around);
  switch (rental.status) {
    case 'Terminated':
      return { steps: [], wait: null };
    case 'Terminating':
    case 'Failed':
      return view.machines.length === 0 ? { steps: [{ do: 'end' }], wait: null } : removal;
    case 'Pending':
      return mergePlans(planProvisioning(view, around), removal);
    case 'Running':
      return mergePlans(planRunning(view, around), removal);
    case 'Unknown':
      return mergePlans(planDueAction(around), removal);
  }
}

const emptyPlan: RentalPlan = { steps: [], wait: null };

function waitUntil(when: Date): RentalPlan {
  return { steps: [], wait: when };
}

function mergePlans(one: RentalPlan, other: RentalPlan): RentalPlan {
  const waits = [one.wait, other.wait].filter((wait) => wait !== null);
  return {
    steps: [...one.steps, ...other.steps],
    wait: waits.length === 0 ? null : new Date(Math.min(...waits.map(Number))),
  };
}

function planEachMachine(
  machines: readonly RentalMachine[],
  planOf: (machine: RentalMachine) => RentalPlan,
): RentalPlan {
  return machines.map(planOf).reduce(mergePlans, emptyPlan);
}

/** The step now, or a wait until the machine's retry is due. */
function whenRetryIsDue(machine: RentalMachine, now: Date, step: MachineStep['do']): RentalPlan {
  const { nextTryAt } = machine;
  if (nextTryAt !== null && nextTryAt > now) return waitUntil(nextTryAt);
  return { steps: [{ do: step, machine }], wait: null };
}

function planDeletions(view: RentalView, { now }: PlanContext): RentalPlan {
  const terminating = view.machines.filter((machine) => machine.state === 'doomed');
  return planEachMachine(terminating, (machine) =>
    whenRetryIsDue(machine, now, machine.cutAt === null ? 'cut' : 'remove'),
  );
}

/** The TTL can expire during provisioning. */
function planProvisioning(view: RentalView, around: PlanContext): RentalPlan {
  const due = planDueAction(around);
  return due.steps.length > 0 ? due : mergePlans(planAttempt(view, around), due);
}

function planAttempt(view: RentalView, { now, policy, storage }: PlanContext): RentalPlan {
  const { taskDeadlineAt, privateCloud } = view.rental;
  if (privateCloud !== null) return planPrivateCloudStart(privateCloud, now);
  if (storage.state === 'failed') return { steps: [{ do: 'fail', why: storage.why }], wait: null };
  const machines = currentMachinesOf(view);
  if (machines.length === 0)
    return { steps: [{ do: 'give up', why: 'The rental has no machines.' }], wait: null };
  const unproven = machines.filter((machine) => machine.state === 'wanted' || machine.state === 'made');
  const waitsForStorage = unproven.length === 0 && storage.state === 'pending';
  if (taskDeadlineAt !== null && taskDeadlineAt <= now) {
    return waitsForStorage
      ? {
          steps: [
            { do: 'fail', why: 'Provisioning timed out: the volume ordered with the rental was not ready.' },
          ],
          wait: null,
        }
      : {
          steps: [{ do: 'give up', why: 'Provisioning timed out: the machine was not ready in time.' }],
          wait: null,
        };
  }
  const deadline = taskDeadlineAt === null ? emptyPlan : waitUntil(taskDeadlineAt);
  if (waitsForStorage) return mergePlans(waitUntil(new Date(now.getTime() + policy.storageLookMs)), deadline);
  if (unproven.length === 0) return whenAllRetriesAreDue(machines, now, { do: 'open' });
  return mergePlans(
    planEachMachine(unproven, (machine) => whenRetryIsDue(machine, now, provisioningStepOf(machine))),
    deadline,
  );
}

/** The operator has already set the machines up, so only the start date matters. */
function planPrivateCloudStart({ startsAt }: PrivateCloud, now: Date): RentalPlan {
  const begins = new Date(startsAt);
  return begins > now ? waitUntil(begins) : { steps: [{ do: 'hand over' }], wait: null };
}

/** A machine that was verified before has its disk: it gets GPUs and is switched on. */
function provisioningStepOf(machine: RentalMachine): MachineStep['do'] {
  if (machine.state === 'made') return 'prove';
  return machine.hostKey === null ? 'create' : 'revive';
}

function planRunning(view: RentalView, around: PlanContext): RentalPlan {
  const { now } = around;
  const due = planDueAction(around);
  if (due.steps.length > 0) return due;
  const step = taskStepOf(view.rental);
  const work = step === null ? emptyPlan : whenAllRetriesAreDue(currentMachinesOf(view), now, step);
  return [work, planStartChecks(view, now), due].reduce(mergePlans);
}

/** Machines whose engine start was still in progress when the rental became Running. */
function planStartChecks(view: RentalView, now: Date): RentalPlan {
  if (view.rental.task !== null || view.rental.power !== 'on') return emptyPlan;
  const starting = currentMachinesOf(view).filter((machine) => machine.starting);
  return planEachMachine(starting, (machine) => whenRetryIsDue(machine, now, 'settle'));
}

function taskStepOf({ task, power, userData }: Rental): PlanStep | null {
  if (task === 'stop' || task === 'start' || task === 'reboot') return { do: task };
  return task === null && power === 'on' && userData !== null ? { do: 'user data' } : null;
}

/** A step on all machines waits for the latest of their retries. */
function whenAllRetriesAreDue(machines: readonly RentalMachine[], now: Date, step: PlanStep): RentalPlan {
  const turnMs = Math.max(0, ...machines.map(({ nextTryAt }) => nextTryAt?.getTime() ?? 0));
  return turnMs > now.getTime() ? waitUntil(new Date(turnMs)) : { steps: [step], wait: null };
}

/** Due actions come before requested tasks, because a termination makes the tasks pointless. */
function planDueAction({ now, due, policy }: PlanContext): RentalPlan {
  const checkUp = waitUntil(new Date(now.getTime() + policy.checkUpMs));
  if (due === null) return checkUp;
  if (due.at > now) return mergePlans(waitUntil(due.at), checkUp);
  return { steps: [{ do: 'carry out' }], wait: null };
}
