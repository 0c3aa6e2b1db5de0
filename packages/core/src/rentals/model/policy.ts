import type { RentalKind } from './rental.ts';

/** How long things may take, in milliseconds. Tests give shorter ones; the product has these. */
export interface RentalPolicy {
  /** One attempt to bring a machine up, from the placement to Running. */
  readonly attemptMs: number;
  /** The same of a bare machine, on whose disk an image is written and which boots twice for it. */
  readonly metalAttemptMs: number;
  /** Between two looks at a machine that is not up yet. */
  readonly pollMs: number;
  /** Between two looks at a volume that a rental was ordered with and that is not usable yet. */
  readonly storageLookMs: number;
  /** The first looks go on for so long, with a login tried so often, before it is written down that nobody answered. */
  readonly lookForMs: number;
  readonly lookAgainMs: number;
  /** After a login that was refused: servers of today add five seconds of disfavour for each. */
  readonly refusedMs: number;
  /** So often a machine may show fewer GPUs than were sold, while its drivers load. */
  readonly gpuLooks: number;
  /** So often a proven machine may fail to take its tenant's keys and ports: somebody may be in it already. */
  readonly openTries: number;
  /** So often user data is offered to a machine that does not take it, though it runs and is paid for. */
  readonly userDataTries: number;
  /** After a failure that may pass; doubles up to the longest. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  /** The same of a removal, which is retried until the engine confirms it or an operator writes the machine off. */
  readonly longestRemovalRetryMs: number;
  /** The same while its cluster is silent: the comparison that finds the cluster answering again makes the removal due. */
  readonly longestSilentRetryMs: number;
  /** The engine must say twice that a machine is gone, this far apart. */
  readonly absentGapMs: number;
  /** A removal that takes longer has its node quarantined, and goes on. */
  readonly releaseLateMs: number;
  /** The same of a bare machine, whose disks are wiped first. */
  readonly metalReleaseLateMs: number;
  /** Access must be cut this soon after an end was accepted. */
  readonly cutWithinMs: number;
  /** The longest that one call to an engine may take. */
  readonly createTimeoutMs: number;
  readonly callTimeoutMs: number;
  /** A stop, start or reboot that takes longer has failed. */
  readonly powerMs: number;
  /** What a machine is given to obey before it is forced. */
  readonly graceMs: number;
  /** A rental with nothing to do is looked at this often all the same. */
  readonly checkUpMs: number;
  /**
   * How long, and how often, a worker tries to get money back from inference for a rental whose reserved term has ended. The
   * rental is charged for this time only if the money comes back.
   */
  readonly recallForMs: number;
  readonly recallRetryMs: number;
  /** While somebody works on a rental others stay away for so long after each of its rounds. */
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

/** What an attempt to bring this kind up may take. */
export function attemptTimeoutMsOf({ kind }: HasKind, policy: RentalPolicy = defaultRentalPolicy): number {
  return kind === 'bare-metal' ? policy.metalAttemptMs : policy.attemptMs;
}

/** What the removal of this kind may take before its node is suspected. */
export function deletionLateMsOf({ kind }: HasKind, policy: RentalPolicy = defaultRentalPolicy): number {
  return kind === 'bare-metal' ? policy.metalReleaseLateMs : policy.releaseLateMs;
}
