import type { OrderedStorage } from '../../volumes/index.ts';
import type { RentalPolicy } from '../model/policy.ts';
import {
  currentMachinesOf,
  type PrivateCloud,
  type Rental,
  type RentalMachine,
  type RentalView,
} from '../model/rental.ts';

/**
 * What is to be done about a rental now. Pure: the same rows at the same instant give the same plan, whoever asks and
 * however often, so that the work can be taken up by anyone after anything.
 */

/** Something to be done to one machine. Acts of one plan do not depend on each other. */
export type MachineStep = {
  readonly do: 'create' | 'revive' | 'prove' | 'settle' | 'cut' | 'remove';
  readonly machine: RentalMachine;
};

export type PlanStep =
  | MachineStep
  /** Every machine is proven: let the tenant in, and Running begins. */
  | { readonly do: 'open' }
  /** A private cloud begins. */
  | { readonly do: 'hand over' }
  /** It runs, and its user data was not taken before. */
  | { readonly do: 'user data' }
  /** The attempt took too long. */
  | { readonly do: 'give up'; readonly why: string }
  /** Another host would not help: its volume is not available. */
  | { readonly do: 'fail'; readonly why: string }
  /** Everything is gone: the rental has ended. */
  | { readonly do: 'end' }
  | { readonly do: 'stop' | 'start' | 'reboot' }
  /** A term, a time to live or a limit has come. */
  | { readonly do: 'carry out' };

export interface RentalPlan {
  /** All can be done at once. None: nothing before `wait`. */
  readonly steps: readonly PlanStep[];
  /** When to look again if nothing was to be done. Null: never, it has ended. */
  readonly wait: Date | null;
}

/** What the rows alone do not tell. */
export interface PlanContext {
  readonly now: Date;
  readonly policy: RentalPolicy;
  /** The next thing that its terms, its time to live or its limits ask for; null: nothing that is known of. */
  readonly due: { readonly at: Date } | null;
  /** The storage that it was ordered with. */
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

/** The plan of each machine by itself. */
function planEachMachine(
  machines: readonly RentalMachine[],
  planOf: (machine: RentalMachine) => RentalPlan,
): RentalPlan {
  return machines.map(planOf).reduce(mergePlans, emptyPlan);
}

/** A machine's act now, or when its turn comes again after a failure. */
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

/** Its time to live may come to an end while it is made. */
function planProvisioning(view: RentalView, around: PlanContext): RentalPlan {
  const due = planDueAction(around);
  return due.steps.length > 0 ? due : mergePlans(planAttempt(view, around), due);
}

function planAttempt(view: RentalView, { now, policy, storage }: PlanContext): RentalPlan {
  const { taskDeadlineAt, privateCloud } = view.rental;
  if (privateCloud !== null) return planPrivateCloudStart(privateCloud, now);
  if (storage.state === 'failed') return { steps: [{ do: 'fail', why: storage.why }], wait: null };
  const machines = currentMachinesOf(view);
  if (machines.length === 0) return { steps: [{ do: 'give up', why: 'It has no machines.' }], wait: null };
  const unproven = machines.filter((machine) => machine.state === 'wanted' || machine.state === 'made');
  const waitsForStorage = unproven.length === 0 && storage.state === 'pending';
  if (taskDeadlineAt !== null && taskDeadlineAt <= now) {
    return waitsForStorage
      ? { steps: [{ do: 'fail', why: 'Its volume was not available in time.' }], wait: null }
      : { steps: [{ do: 'give up', why: 'The machine was not usable in time.' }], wait: null };
  }
  const deadline = taskDeadlineAt === null ? emptyPlan : waitUntil(taskDeadlineAt);
  if (waitsForStorage) return mergePlans(waitUntil(new Date(now.getTime() + policy.storageLookMs)), deadline);
  if (unproven.length === 0) return whenAllRetriesAreDue(machines, now, { do: 'open' });
  return mergePlans(
    planEachMachine(unproven, (machine) => whenRetryIsDue(machine, now, provisioningStepOf(machine))),
    deadline,
  );
}

/** Its machines are there already: all that is to be done is to wait for the day. */
function planPrivateCloudStart({ startsAt }: PrivateCloud, now: Date): RentalPlan {
  const begins = new Date(startsAt);
  return begins > now ? waitUntil(begins) : { steps: [{ do: 'hand over' }], wait: null };
}

/** A machine that was proven before has its disk already: it is not made again but given GPUs and switched on. */
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

/** Those whose start had not ended when they were sold. */
function planStartChecks(view: RentalView, now: Date): RentalPlan {
  if (view.rental.task !== null || view.rental.power !== 'on') return emptyPlan;
  const starting = currentMachinesOf(view).filter((machine) => machine.starting);
  return planEachMachine(starting, (machine) => whenRetryIsDue(machine, now, 'settle'));
}

/** What is to be done to a rental that runs, besides what falls due. */
function taskStepOf({ task, power, userData }: Rental): PlanStep | null {
  if (task === 'stop' || task === 'start' || task === 'reboot') return { do: task };
  return task === null && power === 'on' && userData !== null ? { do: 'user data' } : null;
}

/** An act on all machines at once, when the turn of the last of them has come. */
function whenAllRetriesAreDue(machines: readonly RentalMachine[], now: Date, step: PlanStep): RentalPlan {
  const turnMs = Math.max(0, ...machines.map(({ nextTryAt }) => nextTryAt?.getTime() ?? 0));
  return turnMs > now.getTime() ? waitUntil(new Date(turnMs)) : { steps: [step], wait: null };
}

/** What is due by the clock comes before what was asked for: an end makes the rest pointless. */
function planDueAction({ now, due, policy }: PlanContext): RentalPlan {
  const checkUp = waitUntil(new Date(now.getTime() + policy.checkUpMs));
  if (due === null) return checkUp;
  if (due.at > now) return mergePlans(waitUntil(due.at), checkUp);
  return { steps: [{ do: 'carry out' }], wait: null };
}
