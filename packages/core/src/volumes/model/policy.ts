/** Time limits and intervals in milliseconds. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

export interface VolumePolicy {
  /** A volume that is not usable by then is purged without charge. */
  readonly provisionMs: number;
  /** Growth or snapshots that are not done by then fail. */
  readonly changeMs: number;
  /** Doubles after each failure up to the maximum. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  /** How long one worker claims a volume. */
  readonly workingMs: number;
  /** Time limit of one call to a backend; shorter than `workingMs`. */
  readonly callMs: number;
  /** Interval of checks of a volume without work. */
  readonly checkUpMs: number;
  /** Interval at which a frozen volume checks the balance. */
  readonly thawMs: number;
  /** Interval of storage node checks. */
  readonly lookMs: number;
  /** After a longer gap without checks, earlier silence does not count. */
  readonly gapMs: number;
  /** After this silence the volumes of a node are unknown. */
  readonly silentMs: number;
}

export const defaultVolumePolicy: VolumePolicy = {
  provisionMs: 30 * MINUTE_MS,
  changeMs: 30 * MINUTE_MS,
  firstRetryMs: SECOND_MS,
  maxRetryMs: MINUTE_MS,
  workingMs: 150 * SECOND_MS,
  callMs: 125 * SECOND_MS,
  checkUpMs: HOUR_MS,
  thawMs: MINUTE_MS,
  lookMs: 10 * SECOND_MS,
  gapMs: 40 * SECOND_MS,
  silentMs: 90 * SECOND_MS,
};
