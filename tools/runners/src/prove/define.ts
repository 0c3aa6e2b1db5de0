import type { Random } from '@millrace/testing/random';

export interface ProofRun {
  readonly seed: number;
  readonly random: Random;
  /** Prints progress; it is not part of the report. */
  note(line: string): void;
}

export interface ProofReport {
  /** Measured values with units, for example `{ 'calls that reached a handler': '61 %' }`. */
  readonly figures: Readonly<Record<string, string | number>>;
  /** One sentence per failure; empty if the proof passed. Throwing is also a failure. */
  readonly failures?: readonly string[];
}

export interface Proof {
  readonly name: string;
  readonly proves: string;
  /** Short form for CI: seeded, under two minutes on two cores. Null for an optional proof that needs more than CI has. */
  readonly short: ((run: ProofRun) => Promise<ProofReport>) | null;
  /** `waitsFor`: mostly waits for this engine, so proofs of other groups may run beside it. `alone`: measures times. */
  readonly company?: { readonly waitsFor: 'incus' | 'ironic' } | 'alone';
  /** Long form, run by hand; its figures are committed. */
  readonly long: (run: ProofRun) => Promise<ProofReport>;
}

/** Thrown if this machine cannot run the proof; the message says what is missing. Counts neither as passed nor as failed. */
export class UnsupportedHostError extends Error {}

export function defineProof(proof: Proof): Proof {
  return proof;
}
