import type { RentalKind } from './rental.ts';

/** Timeouts, retry intervals and limits of rentals. Tests use shorter times. */
export interface RentalPolicy {
  /** Timeout of one attempt, from placement to Running. */
  readonly attemptMs: number;
  /** Timeout of one attempt on bare metal: the image is written to disk and the machine boots twice. */
  readonly metalAttemptMs: number;
  /** Poll interval of a machine that has not started. */
  readonly pollMs: number;
  /** Poll interval of a volume that was ordered with the rental and is not usable yet. */
  readonly storageLookMs: number;
  /** The first readiness checks try to log in every `lookAgainMs` for `lookForMs` before the failure is stored. */
  readonly lookForMs: number;
  readonly lookAgainMs: number;
  /** Wait after a refused login: current SSH servers penalise each refusal by five seconds. */
  readonly refusedMs: number;
  /** Readiness checks that may count fewer GPUs than sold, while the drivers load. */
  readonly gpuLooks: number;
  /** Attempts to hand a verified machine over. Limited because the tenant might already have access. */
  readonly openTries: number;
  /** Attempts to deliver user data to a machine that is Running and billed. */
  readonly userDataTries: number;
  /** Wait after a transient failure; doubles up to `maxRetryMs`. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  /** Maximum wait of a deletion, which is retried until the engine confirms it or an operator writes the machine off. */
  readonly longestRemovalRetryMs: number;
  /** Maximum wait while the cluster is silent. The comparison that reaches the cluster again makes the deletion due. */
  readonly longestSilentRetryMs: number;
  /** Minimum time between the two reports of absence that confirm a deletion. */
  readonly absentGapMs: number;
  /** A deletion that takes longer quarantines the node; its retries continue. */
  readonly releaseLateMs: number;
  /** The same for bare metal, whose disks are wiped first. */
  readonly metalReleaseLateMs: number;
  /** Deadline for disconnecting the tenant after a termination was accepted. */
  readonly cutWithinMs: number;
  /** Timeouts of one call to an engine. */
  readonly createTimeoutMs: number;
  readonly callTimeoutMs: number;
  /** A stop, start or reboot that takes longer has failed. */
  readonly powerMs: number;
  /** Time for a clean shutdown before the machine is forced off. */
  readonly graceMs: number;
  /** Interval at which a rental without pending work is reconciled. */
  readonly checkUpMs: number;
  /**
   * How long and how often a worker tries to recall credit from inference for a rental whose reserved term has ended. The rental
   * is charged for this time only if the recall succeeds.
   */
  readonly recallForMs: number;
  readonly recallRetryMs: number;
  /** After each reconcile step, no other worker takes the rental for this long. */
  readonly workingMs: number;
}

export const defaultRentalPolicy: RentalPolicy = {
  attemptMs: 10 * 60_000,
  metalAttemptMs: 60 * 60_000,
  pollMs: 300,
  storageLookMs: 5_000,
  lookForMs: 1_000,
  lookAgainMs: 40,
  refusedMs: 6_000,
  gpuLooks: 180,
  openTries: 5,
  userDataTries: 40,
  firstRetryMs: 1_000,
  maxRetryMs: 15_000,
  longestRemovalRetryMs: 10 * 60_000,
  longestSilentRetryMs: 60 * 60_000,
  absentGapMs: 2_000,
  releaseLateMs: 10 * 60_000,
  metalReleaseLateMs: 2 * 60 * 60_000,
  cutWithinMs: 5_000,
  createTimeoutMs: 120_000,
  callTimeoutMs: 30_000,
  powerMs: 5 * 60_000,
  graceMs: 20_000,
  checkUpMs: 60 * 60_000,
  recallForMs: 10 * 60_000,
  recallRetryMs: 15_000,
  workingMs: 30_000,
};

type HasKind = { readonly kind: RentalKind };

export function attemptTimeoutMsOf({ kind }: HasKind, policy: RentalPolicy = defaultRentalPolicy): number {
  return kind === 'bare-metal' ? policy.metalAttemptMs : policy.attemptMs;
}

/** Deletion time after which the node is quarantined. */
export function deletionLateMsOf({ kind }: HasKind, policy: RentalPolicy = defaultRentalPolicy): number {
  return kind === 'bare-metal' ? policy.metalReleaseLateMs : policy.releaseLateMs;
}
