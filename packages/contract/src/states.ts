import { instanceStates } from './states/instance.ts';
import { machineStates } from './states/machine.ts';
import { rentalStates } from './states/rental.ts';
import type { StateTable, Transition, ActionDecision } from './states/table.ts';
import { volumeStates } from './states/volume.ts';

export * from './states/instance.ts';
export * from './states/machine.ts';
export * from './states/rental.ts';
export type { StateInfo, StateTable, Transition, ActionDecision } from './states/table.ts';
export * from './states/volume.ts';

/**
 * The states of everything that lives, as one table each. Server guards, disabled buttons with their reasons,
 * command-line errors and the docs read these tables and hold no rule of their own.
 */
export const stateTables = {
  rental: rentalStates,
  volume: volumeStates,
  machine: machineStates,
  instance: instanceStates,
} as const;

/** The transition between two states, or undefined where the table knows none. */
export function findTransition<State extends string, Action extends string>(
  table: StateTable<State, Action>,
  from: State | null,
  to: State | null,
): Transition<State> | undefined {
  return table.transitions.find((transition) => transition.from === from && transition.to === to);
}

/** Whether the table knows a way from one state to the other. Staying is no move. */
export function canTransition<State extends string, Action extends string>(
  table: StateTable<State, Action>,
  from: State | null,
  to: State | null,
): boolean {
  return findTransition(table, from, to) !== undefined;
}

/** Whether an action may be taken in a state, and if not, why not. */
export function actionDecision<State extends string, Action extends string>(
  table: StateTable<State, Action>,
  action: Action,
  state: State,
): ActionDecision {
  return table.actions[action][state];
}
