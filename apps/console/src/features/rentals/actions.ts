import { stateTables, actionDecision, type RentalAction, type RentalState } from '@millrace/contract/states';
import { rentalStateText } from '@millrace/sdk/text';
import type { Rental } from './rental.ts';

/** What can be done with a rental now, and if not, why not: from the table of states, then from its power. */

export type RentalVerb = Extract<
  RentalAction,
  'terminate' | 'start' | 'stop' | 'reboot' | 'extend' | 'update' | 'attach-volume'
>;

type Fields = Pick<
  Rental,
  'status' | 'power' | 'gpuHeld' | 'releasedCostPerHourNanoUsd' | 'expiresAt' | 'currentTerm'
>;

const inProgress: Readonly<Record<RentalState, string>> = {
  Pending: 'It is still being made. Wait until it runs.',
  Running: 'Something else is still being done with it. Wait until that is done.',
  Unknown: 'Its machine does not answer. Wait until it is back.',
  Failed: 'It has failed, and is being cleaned up.',
  Terminating: 'It is being ended.',
  Terminated: 'It has ended.',
};

function stateDisabledReason(verb: RentalVerb, status: RentalState): string | false {
  const decision = actionDecision(stateTables.rental, verb, status);
  if (decision === 'allowed') return false;
  if (status === 'Failed' && decision === 'ALREADY_TERMINATED') {
    return 'It has failed, so nothing more can be done with it. Rent another.';
  }
  if (decision === 'ALREADY_TERMINATED') return 'It has ended, so nothing more can be done with it.';
  return inProgress[status];
}

function powerDisabledReason(verb: RentalVerb, rental: Fields): string | false {
  const { power, gpuHeld } = rental;
  const switches = verb === 'start' || verb === 'stop' || verb === 'reboot';
  if (switches && power === 'changing') return 'It is being switched right now. Wait until that is done.';
  switch (verb) {
    case 'start':
      return power === 'on' && 'It is on already.';
    case 'stop': {
      const canStillRelease = gpuHeld && rental.releasedCostPerHourNanoUsd !== null;
      return power === 'off' && !canStillRelease && 'It is off already.';
    }
    case 'reboot':
      return power === 'off' && 'It is off. Start the rental instead of rebooting it.';
    case 'extend':
      return (
        rental.currentTerm.termType !== 'reserved' &&
        rental.expiresAt === null &&
        'It has no end: it runs until you end it. Under Settings you can set one.'
      );
    case 'terminate':
    case 'update':
    case 'attach-volume':
      return false;
  }
}

/** False where it can be done. The role counts first, since nothing else helps without it. */
export function rentalActionDisabledReason(
  verb: RentalVerb,
  rental: Fields,
  deniedReason: string | false,
): string | false {
  if (deniedReason !== false) return deniedReason;
  const state = stateDisabledReason(verb, rental.status);
  if (state !== false) return state;
  const isPrivate = rental.currentTerm.termType === 'private-cloud';
  if (isPrivate && verb !== 'update') return 'It is run for you under a contract. Ask your operator.';
  return powerDisabledReason(verb, rental);
}

/** What its state is, for people: the meaning in the table of states, and what its power adds to that. */
export function stateDescription(rental: Pick<Rental, 'status' | 'power' | 'gpuHeld'>): string {
  const { status, power, gpuHeld } = rental;
  const { meaning } = stateTables.rental.states[status];
  if (status !== 'Running') return meaning;
  // The rest of it is about those that are off.
  if (power === 'on') return `${meaning.split('. ', 1)[0]?.replace(/\.$/, '') ?? ''}.`;
  if (power === 'changing') return 'It is being switched on, off or both.';
  return gpuHeld
    ? 'It is switched off. Its disk is kept and its GPUs are still yours.'
    : 'It is switched off and its GPUs were given back. Its disk is kept.';
}

/** `running`, `off, GPUs held`: the state in the words that the command uses too. */
export function stateLabel(rental: Pick<Rental, 'status' | 'power' | 'gpuHeld'>): string {
  return rentalStateText(rental);
}
