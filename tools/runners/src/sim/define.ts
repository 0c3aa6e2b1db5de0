import type { Random } from '@millrace/testing/random';

export interface Action<State> {
  /** Relative frequency. */
  readonly weight: number;
  /** Precondition; an event whose action is not possible is skipped. */
  readonly when?: (state: State) => boolean;
  readonly run: (state: State, random: Random) => void | Promise<void>;
}

/** Throws or returns a sentence if the state violates the rule. */
export type Validator<State> = (state: State) => string | void | Promise<string | void>;

export interface Sim<State> {
  readonly name: string;
  /** One sentence that says what a failure would mean. */
  readonly about: string;
  readonly init: (random: Random) => State | Promise<State>;
  readonly actions: Readonly<Record<string, Action<State>>>;
  readonly validators: Readonly<Record<string, Validator<State>>>;
  /** Validators run after every n-th event and at the end. Default 1. */
  readonly validateEvery?: number;
  /** Releases what `init` acquired. */
  readonly close?: (state: State) => void | Promise<void>;
  /** Maximum number of reruns to shrink a failing run; 0 if a run is expensive. Default 200. */
  readonly shrinkAttempts?: number;
  /** Events under `--all`, because some rules need a long run. */
  readonly ciEvents?: number;
}

/** Keeps the type of the state for the definition; the runner does not use it. */
export function defineSim<State>(sim: Sim<State>): Sim<unknown> {
  return sim as unknown as Sim<unknown>;
}
