import { defaultMeteringPolicy as metering } from '../../metering/index.ts';

/** How long things may take and last, in milliseconds. */

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** For how long data is kept after a deletion or when the money has ended, where that much could be set aside. */
export const RETENTION_MS = 72 * HOUR_MS;

/** No more than this part of what a wallet has is set aside for keeping, and no more of what a limit allows. */
export const RETENTION_DIVISOR = 4n;

/** What a hold at create reaches over: until the first posting, and what metering adds to that. */
export const HOLD_WINDOW_MS = metering.postEveryMs + metering.marginMs;

export interface VolumePolicy {
  /** A volume that is not usable by then is given up, and cost nothing. */
  readonly provisionMs: number;
  /** A growth or a snapshot that is not there by then is given up. */
  readonly changeMs: number;
  /** After a failure; doubles up to the longest. */
  readonly firstRetryMs: number;
  readonly longestRetryMs: number;
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
  longestRetryMs: MINUTE_MS,
  workingMs: 150 * SECOND_MS,
  callMs: 125 * SECOND_MS,
  checkUpMs: HOUR_MS,
  thawMs: MINUTE_MS,
  lookMs: 10 * SECOND_MS,
  gapMs: 40 * SECOND_MS,
  silentMs: 90 * SECOND_MS,
};
