/** The numbers of metering, in one place. All of them are times; none of them changes what anything costs. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export interface MeteringPolicy {
  /** How often a running meter is posted. Each meter has its own minute of the hour. */
  readonly postEveryMs: number;
  /** A hold reaches this much further than the next posting, so that a late sweep finds its money set aside. */
  readonly marginMs: number;
  /** The least time between two looks at a meter whose hold could not be brought to its target. */
  readonly retryMs: number;
  /** Running work is stopped while this much time is still paid for: stopping takes time as well. */
  readonly stopAheadMs: number;
}

export const defaultMeteringPolicy: MeteringPolicy = {
  postEveryMs: HOUR_MS,
  marginMs: 15 * MINUTE_MS,
  retryMs: MINUTE_MS,
  stopAheadMs: 2 * MINUTE_MS,
};

/** What a hold at create reaches over: until the first posting, and the margin. */
export const HOLD_WINDOW_MS = defaultMeteringPolicy.postEveryMs + defaultMeteringPolicy.marginMs;

/** For how long data is kept after its end or when the money has ended, where that much could be set aside. */
export const RETENTION_MS = 72 * HOUR_MS;

/** No more than this part of what a wallet has, or of what a limit allows, is set aside for keeping data. */
export const RETENTION_DIVISOR = 4n;

/** Where a wallet stands. Each step is announced once on the way down. */
export type DunningLevel = 'fine' | 'day' | 'hour' | 'quarter' | 'empty';

export interface DunningThreshold {
  readonly step: DunningLevel;
  /** Reached when this much runway, or less, is left. */
  readonly atMs: number;
  /** Left only with more than this: what hovers about a limit would otherwise be announced again and again. */
  readonly leftAboveMs: number;
}

/** From the top down. */
export const dunningThresholds: readonly DunningThreshold[] = [
  { step: 'day', atMs: 24 * HOUR_MS, leftAboveMs: 27 * HOUR_MS },
  { step: 'hour', atMs: HOUR_MS, leftAboveMs: 75 * MINUTE_MS },
  { step: 'quarter', atMs: 15 * MINUTE_MS, leftAboveMs: 20 * MINUTE_MS },
  { step: 'empty', atMs: defaultMeteringPolicy.stopAheadMs, leftAboveMs: 10 * MINUTE_MS },
];
