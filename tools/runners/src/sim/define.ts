import type { Random } from '@millrace/testing/random';

export interface Action<State> {
  /** How often it is chosen, relative to the others. */
  readonly weight: number;
  /** Whether it can happen now; an event whose action cannot happen is passed over. */
  readonly when?: (state: State) => boolean;
  readonly run: (state: State, random: Random) => void | Promise<void>;
}

/** Throws, or gives a sentence, when the state is not as it must be. */
export type Validator<State> = (state: State) => string | void | Promise<string | void>;

export interface Sim<State> {
  readonly name: string;
  /** What it would mean if it failed, in one sentence. */
  readonly about: string;
  readonly init: (random: Random) => State | Promise<State>;
  readonly actions: Readonly<Record<string, Action<State>>>;
  readonly validators: Readonly<Record<string, Validator<State>>>;
  /** Validators run after every n-th event and at the end; 1 unless said. */
  readonly validateEvery?: number;
  /** Frees what init took. */
  readonly close?: (state: State) => void | Promise<void>;
  /** How many reruns may be spent on making a failing run smaller; 0 when a run is dear. 200 unless said. */
  readonly shrinkAttempts?: number;
  /** How many events `--all` plays of this one, whatever it plays of the others: some rules need a long run to be tried. */
  readonly ciEvents?: number;
}

/** Keeps the state's type while the kit, which looks at no state, handles all simulations alike. */
export function defineSim<State>(sim: Sim<State>): Sim<unknown> {
  return sim as unknown as Sim<unknown>;
}
