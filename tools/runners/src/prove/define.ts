import type { Random } from '@millrace/testing/random';

export interface ProofRun {
  readonly seed: number;
  readonly random: Random;
  /** A line for whoever watches; the report is what counts. */
  note(line: string): void;
}

export interface ProofReport {
  /** What was measured, in words with units: `{ 'calls that reached a handler': '61 %' }`. */
  readonly figures: Readonly<Record<string, string | number>>;
  /** Sentences; none means proven. Throwing is a failure too. */
  readonly failures?: readonly string[];
}

export interface Proof {
  readonly name: string;
  /** The guarantee, in one sentence. */
  readonly proves: string;
  /**
   * Seeded, under two minutes on two cores: part of every CI run. Null for an optional proof, which needs what CI has not or
   * is too long for it: only its long form exists, and `--all --short` passes over it and says so.
   */
  readonly short: ((run: ProofRun) => Promise<ProofReport>) | null;
  /**
   * In a run of all. `waitsFor`: it spends most of its time waiting for an engine that it killed, so the others go on beside it,
   * but for those that kill the same one. `alone`: it judges by times that a busy machine would stretch.
   */
  readonly company?: { readonly waitsFor: 'incus' | 'ironic' } | 'alone';
  /** As long as it takes to be convinced; run by hand, its figures are committed. */
  readonly long: (run: ProofRun) => Promise<ProofReport>;
}

/** Thrown by a proof that this machine cannot run. The message says what is missing; it is neither passed nor failed. */
export class UnsupportedHostError extends Error {}

export function defineProof(proof: Proof): Proof {
  return proof;
}
