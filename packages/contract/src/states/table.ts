import type { Reason } from '../errors.ts';

/** What a state allows: the action; the first answer again; or a refusal with its reason. */
export type ActionDecision = 'allowed' | 'repeat' | Reason;

export interface StateInfo {
  readonly meaning: string;
  /** A terminal state is never left. */
  readonly terminal: boolean;
  /** What ends the state if nothing else does. Null for terminal states only: no other state may last unwatched. */
  readonly deadline: string | null;
}

export interface Transition<State extends string> {
  /** Null: the object comes into being. */
  readonly from: State | null;
  /** Null: the object leaves the books. */
  readonly to: State | null;
  readonly trigger: string;
  readonly billing: string;
}

export interface StateTable<State extends string, Action extends string> {
  readonly object: string;
  readonly states: Readonly<Record<State, StateInfo>>;
  readonly transitions: readonly Transition<State>[];
  readonly actions: Readonly<Record<Action, Readonly<Record<State, ActionDecision>>>>;
}

export function defineStates<State extends string, Action extends string>(
  table: StateTable<State, Action>,
): StateTable<State, Action> {
  return table;
}

/** Whatever ends a rental ends an instance, and both stop being billed at the same instant. */
export const terminateTrigger = 'terminate, time-to-live, balance floor, term end, or operator';
export const terminateBilling = 'stops at the accepted request';

/** And neither pays for a host that is at fault. */
export const unreachableBilling = 'continues 5 min, then paused and credited back if the host was at fault';
