/** The intervals and thresholds of metering and dunning. None of them changes a cost. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export interface MeteringPolicy {
  /** How often a running meter is posted. Each meter has its own slot within the hour. */
  readonly postEveryMs: number;
  /** How far a hold reaches beyond the next posting, so that a late sweep still finds held money. */
  readonly marginMs: number;
  /** The minimum time between two tries to bring a hold to its target. */
  readonly retryMs: number;
  /** How much paid time is left when running work is stopped, because stopping takes time. */
  readonly stopAheadMs: number;
}

export const defaultMeteringPolicy: MeteringPolicy = {
  postEveryMs: HOUR_MS,
  marginMs: 15 * MINUTE_MS,
  retryMs: MINUTE_MS,
  stopAheadMs: 2 * MINUTE_MS,
};

/** The time that a hold at creation covers: until the first posting, plus the margin. */
export const HOLD_WINDOW_MS = defaultMeteringPolicy.postEveryMs + defaultMeteringPolicy.marginMs;

/** How long data is retained after its end or when the money ends, if enough could be held. */
export const RETENTION_MS = 72 * HOUR_MS;

/** At most this fraction of the balance, or of a spending limit, is held for retention. */
export const RETENTION_DIVISOR = 4n;

/** Each level is announced once on the way down. */
export type DunningLevel = 'fine' | 'day' | 'hour' | 'quarter' | 'empty';

export interface DunningThreshold {
  readonly step: DunningLevel;
  /** Reached at this runway or below. */
  readonly atMs: number;
  /** Left only above this runway, so that a runway near the threshold is not announced repeatedly. */
  readonly leftAboveMs: number;
}

/** From the highest level to the lowest. */
export const dunningThresholds: readonly DunningThreshold[] = [
  { step: 'day', atMs: 24 * HOUR_MS, leftAboveMs: 27 * HOUR_MS },
  { step: 'hour', atMs: HOUR_MS, leftAboveMs: 75 * MINUTE_MS },
  { step: 'quarter', atMs: 15 * MINUTE_MS, leftAboveMs: 20 * MINUTE_MS },
  { step: 'empty', atMs: defaultMeteringPolicy.stopAheadMs, leftAboveMs: 10 * MINUTE_MS },
];
