import type { Reason } from '../errors.ts';

/** Whether a state allows an action, repeats its first result, or refuses it with a reason. */
export type ActionDecision = 'allowed' | 'repeat' | Reason;

export interface StateInfo {
  readonly meaning: string;
  readonly terminal: boolean;
  /** The time limit of the state. Null only for terminal states, so that no other state lasts without a bound. */
  readonly deadline: string | null;
}

export interface Transition<State extends string> {
  /** Null: the resource is created. */
  readonly from: State | null;
  /** Null: the resource is deleted. */
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

/** The same causes end rentals and instances, and billing of both stops at the same time. */
export const terminateTrigger = 'terminate, TTL, balance floor, term end, or operator';
export const terminateBilling = 'stops at the accepted request';

/** Tenants do not pay for a host that is at fault. */
export const unreachableBilling =
  'continues for 5 min, then pauses and is credited back if the host was at fault';
