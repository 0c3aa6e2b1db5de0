import { stateTables, actionDecision, type RentalAction, type RentalState } from '@millrace/contract/states';
import { rentalStateText } from '@millrace/sdk/text';
import type { Rental } from './rental.ts';

/** Says why an action on a rental is not possible, from the state table and its power. */

export type RentalVerb = Extract<
  RentalAction,
  'terminate' | 'start' | 'stop' | 'reboot' | 'extend' | 'update' | 'attach-volume'
>;

type Fields = Pick<
  Rental,
  'status' | 'power' | 'gpuHeld' | 'releasedCostPerHourNanoUsd' | 'expiresAt' | 'currentTerm'
>;

const inProgress: Readonly<Record<RentalState, string>> = {
  Pending: 'The rental is still starting. Wait until it runs.',
  Running: 'Another operation is in progress. Wait until it has finished.',
  Unknown: 'The machine does not respond. Wait until it is reachable again.',
  Failed: 'The rental has failed and is being deleted.',
  Terminating: 'The rental is terminating.',
  Terminated: 'The rental has ended.',
};

function stateDisabledReason(verb: RentalVerb, status: RentalState): string | false {
  const decision = actionDecision(stateTables.rental, verb, status);
  if (decision === 'allowed') return false;
  if (status === 'Failed' && decision === 'ALREADY_TERMINATED') {
    return 'The rental has failed. Rent another machine.';
  }
  if (decision === 'ALREADY_TERMINATED') return 'The rental has ended.';
  return inProgress[status];
}

function powerDisabledReason(verb: RentalVerb, rental: Fields): string | false {
  const { power, gpuHeld } = rental;
  const switches = verb === 'start' || verb === 'stop' || verb === 'reboot';
  if (switches && power === 'changing')
    return 'The machine is being started or stopped. Wait until that has finished.';
  switch (verb) {
    case 'start':
      return power === 'on' && 'The machine is already on.';
    case 'stop': {
      const canStillRelease = gpuHeld && rental.releasedCostPerHourNanoUsd !== null;
      return power === 'off' && !canStillRelease && 'The machine is already off.';
    }
    case 'reboot':
      return power === 'off' && 'The machine is off. Start it instead.';
    case 'extend':
      return (
        rental.currentTerm.termType !== 'reserved' &&
        rental.expiresAt === null &&
        'This rental has no end date. Set a time to live under Settings.'
      );
    case 'terminate':
    case 'update':
    case 'attach-volume':
      return false;
  }
}

/** False if the action is possible. A missing permission comes first, because nothing else helps then. */
export function rentalActionDisabledReason(
  verb: RentalVerb,
  rental: Fields,
  deniedReason: string | false,
): string | false {
  if (deniedReason !== false) return deniedReason;
  const state = stateDisabledReason(verb, rental.status);
  if (state !== false) return state;
  const isPrivate = rental.currentTerm.termType === 'private-cloud';
  if (isPrivate && verb !== 'update') return 'This rental is under a contract. Contact your operator.';
  return powerDisabledReason(verb, rental);
}

/** The meaning from the state table, plus what the power state adds. */
export function stateDescription(rental: Pick<Rental, 'status' | 'power' | 'gpuHeld'>): string {
  const { status, power, gpuHeld } = rental;
  const { meaning } = stateTables.rental.states[status];
  if (status !== 'Running') return meaning;
  // The second sentence is about stopped rentals.
  if (power === 'on') return `${meaning.split('. ', 1)[0]?.replace(/\.$/, '') ?? ''}.`;
  if (power === 'changing') return 'The machine is being started or stopped.';
  return gpuHeld
    ? 'The machine is off. Its disk is kept, and its GPUs are still reserved for you.'
    : 'The machine is off, and its GPUs were released. Its disk is kept.';
}

/** `running`, `off, GPUs held`: the same text as in the CLI. */
export function stateLabel(rental: Pick<Rental, 'status' | 'power' | 'gpuHeld'>): string {
  return rentalStateText(rental);
}
