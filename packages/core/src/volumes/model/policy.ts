/** How long things may take and last, in milliseconds. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

export interface VolumePolicy {
  /** A volume that is not usable by then is given up, and cost nothing. */
  readonly provisionMs: number;
  /** A growth or a snapshot that is not there by then is given up. */
  readonly changeMs: number;
  /** After a failure; doubles up to the longest. */
  readonly firstRetryMs: number;
  readonly maxRetryMs: number;
  /** While somebody works on a volume others stay away for so long. */
  readonly workingMs: number;
  /** The longest that one call to a backend may take; shorter than `workingMs`. */
  readonly callMs: number;
  /** A volume with nothing to do is looked at this often all the same. */
  readonly checkUpMs: number;
  /** How often a frozen volume asks whether there is money again. */
  readonly thawMs: number;
  /** How often each storage node is looked at. */
  readonly lookMs: number;
  /** Nobody looked for so long: silence before that is our own. */
  readonly gapMs: number;
  /** Silent for so long, its volumes are unknown. */
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
