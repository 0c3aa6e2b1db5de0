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

/** The state tables of all resources. Server guards, disabled controls, CLI errors and docs read only these rules. */
export const stateTables = {
  rental: rentalStates,
  volume: volumeStates,
  machine: machineStates,
  instance: instanceStates,
} as const;

export function findTransition<State extends string, Action extends string>(
  table: StateTable<State, Action>,
  from: State | null,
  to: State | null,
): Transition<State> | undefined {
  return table.transitions.find((transition) => transition.from === from && transition.to === to);
}

/** Whether the table has a transition between the two states. A state has no transition to itself. */
export function canTransition<State extends string, Action extends string>(
  table: StateTable<State, Action>,
  from: State | null,
  to: State | null,
): boolean {
  return findTransition(table, from, to) !== undefined;
}

export function actionDecision<State extends string, Action extends string>(
  table: StateTable<State, Action>,
  action: Action,
  state: State,
): ActionDecision {
  return table.actions[action][state];
}
