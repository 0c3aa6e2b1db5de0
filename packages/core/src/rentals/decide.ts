import type { OrderedStorage } from '../volumes/index.ts';
import type { RentalPolicy } from './policy.ts';
import { machinesOf, type PrivateCloud, type Rental, type RentalMachine, type RentalView } from './rental.ts';

/**
 * What is to be done about a rental now. Pure: the same rows at the same instant give the same plan, whoever asks and
 * however often, so that the work can be taken up by anyone after anything.
 */

/** Something to be done to one machine. Acts of one plan do not depend on each other. */
export type MachineAct = {
  readonly do: 'create' | 'revive' | 'prove' | 'settle' | 'cut' | 'remove';
  readonly machine: RentalMachine;
};

export type Act =
  | MachineAct
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

export interface Plan {
  /** All can be done at once. None: nothing before `wait`. */
  readonly acts: readonly Act[];
  /** When to look again if nothing was to be done. Null: never, it has ended. */
  readonly wait: Date | null;
}

/** What the rows alone do not tell. */
export interface Surroundings {
  readonly now: Date;
  readonly policy: RentalPolicy;
  /** The next thing that its terms, its time to live or its limits ask for; null: nothing that is known of. */
  readonly due: { readonly at: Date } | null;
  /** The storage that it was ordered with. */
  readonly storage: OrderedStorage;
}

export function decide(view: RentalView, around: Surroundings): Plan {
  const { rental } = view;
  const removal = removeDoomed(view, around);
  switch (rental.status) {
    case 'Terminated':
      return { acts: [], wait: null };
    case 'Terminating':
    case 'Failed':
      return view.machines.length === 0 ? { acts: [{ do: 'end' }], wait: null } : removal;
    case 'Pending':
      return both(comeUp(view, around), removal);
    case 'Running':
      return both(live(view, around), removal);
    case 'Unknown':
      return both(fallDue(around), removal);
  }
}

const nothing: Plan = { acts: [], wait: null };

function at(when: Date): Plan {
  return { acts: [], wait: when };
}

function both(one: Plan, other: Plan): Plan {
  const waits = [one.wait, other.wait].filter((wait) => wait !== null);
  return {
    acts: [...one.acts, ...other.acts],
    wait: waits.length === 0 ? null : new Date(Math.min(...waits.map(Number))),
  };
}

/** The plan of each machine by itself. */
function each(machines: readonly RentalMachine[], planOf: (machine: RentalMachine) => Plan): Plan {
  return machines.map(planOf).reduce(both, nothing);
}

/** A machine's act now, or when its turn comes again after a failure. */
function inTurn(machine: RentalMachine, now: Date, act: MachineAct['do']): Plan {
  const { nextTryAt } = machine;
  if (nextTryAt !== null && nextTryAt > now) return at(nextTryAt);
  return { acts: [{ do: act, machine }], wait: null };
}

function removeDoomed(view: RentalView, { now }: Surroundings): Plan {
  const doomed = view.machines.filter((machine) => machine.state === 'doomed');
  return each(doomed, (machine) => inTurn(machine, now, machine.cutAt === null ? 'cut' : 'remove'));
}

/** Its time to live may come to an end while it is made. */
function comeUp(view: RentalView, around: Surroundings): Plan {
  const due = fallDue(around);
  return due.acts.length > 0 ? due : both(provision(view, around), due);
}

function provision(view: RentalView, { now, policy, storage }: Surroundings): Plan {
  const { taskDeadlineAt, privateCloud } = view.rental;
  if (privateCloud !== null) return whenItBegins(privateCloud, now);
  if (storage.state === 'failed') return { acts: [{ do: 'fail', why: storage.why }], wait: null };
  const machines = machinesOf(view);
  if (machines.length === 0) return { acts: [{ do: 'give up', why: 'It has no machines.' }], wait: null };
  const unproven = machines.filter((machine) => machine.state === 'wanted' || machine.state === 'made');
  const waitsForStorage = unproven.length === 0 && storage.state === 'pending';
  if (taskDeadlineAt !== null && taskDeadlineAt <= now) {
    return waitsForStorage
      ? { acts: [{ do: 'fail', why: 'Its volume was not available in time.' }], wait: null }
      : { acts: [{ do: 'give up', why: 'The machine was not usable in time.' }], wait: null };
  }
  const deadline = taskDeadlineAt === null ? nothing : at(taskDeadlineAt);
  if (waitsForStorage) return both(at(new Date(now.getTime() + policy.storageLookMs)), deadline);
  if (unproven.length === 0) return turnOfAll(machines, now, { do: 'open' });
  return both(
    each(unproven, (machine) => inTurn(machine, now, bringUp(machine))),
    deadline,
  );
}

/** Its machines are there already: all that is to be done is to wait for the day. */
function whenItBegins({ startsAt }: PrivateCloud, now: Date): Plan {
  const begins = new Date(startsAt);
  return begins > now ? at(begins) : { acts: [{ do: 'hand over' }], wait: null };
}

/** A machine that was proven before has its disk already: it is not made again but given GPUs and switched on. */
function bringUp(machine: RentalMachine): MachineAct['do'] {
  if (machine.state === 'made') return 'prove';
  return machine.hostKey === null ? 'create' : 'revive';
}

function live(view: RentalView, around: Surroundings): Plan {
  const { now } = around;
  const due = fallDue(around);
  if (due.acts.length > 0) return due;
  const act = workOf(view.rental);
  const work = act === null ? nothing : turnOfAll(machinesOf(view), now, act);
  return [work, settle(view, now), due].reduce(both);
}

/** Those whose start had not ended when they were sold. */
function settle(view: RentalView, now: Date): Plan {
  if (view.rental.task !== null || view.rental.power !== 'on') return nothing;
  const starting = machinesOf(view).filter((machine) => machine.starting);
  return each(starting, (machine) => inTurn(machine, now, 'settle'));
}

/** What is to be done to a rental that runs, besides what falls due. */
function workOf({ task, power, userData }: Rental): Act | null {
  if (task === 'stop' || task === 'start' || task === 'reboot') return { do: task };
  return task === null && power === 'on' && userData !== null ? { do: 'user data' } : null;
}

/** An act on all machines at once, when the turn of the last of them has come. */
function turnOfAll(machines: readonly RentalMachine[], now: Date, act: Act): Plan {
  const turnMs = Math.max(0, ...machines.map(({ nextTryAt }) => nextTryAt?.getTime() ?? 0));
  return turnMs > now.getTime() ? at(new Date(turnMs)) : { acts: [act], wait: null };
}

/** What is due by the clock comes before what was asked for: an end makes the rest pointless. */
function fallDue({ now, due, policy }: Surroundings): Plan {
  const checkUp = at(new Date(now.getTime() + policy.checkUpMs));
  if (due === null) return checkUp;
  if (due.at > now) return both(at(due.at), checkUp);
  return { acts: [{ do: 'carry out' }], wait: null };
}
