/**
 * When a cluster counts as silent. Pure.
 *
 * An observer that was away knows nothing about the time it was away: an engine that did not answer then was not
 * asked. So silence is counted only over time in which somebody looked without a gap.
 */

export interface Observation {
  /** When the engine last answered a full read. */
  readonly lastSeenAt: Date | null;
  /** Since when somebody has looked without a gap. */
  readonly watchingSince: Date | null;
  /** When somebody last looked. */
  readonly heartbeatAt: Date | null;
}

export interface CurrentObservation extends Observation {
  readonly watchingSince: Date;
  readonly heartbeatAt: Date;
}

export interface ObserverTuning {
  /** How often an observer says that it looks. */
  readonly heartbeatMs: number;
  /** How long an observer that says nothing keeps its clusters. */
  readonly leaseMs: number;
  /** How long an engine may stay silent before its nodes are offline. */
  readonly silentMs: number;
  /** How often everything is read, beside what events bring forward. */
  readonly readEveryMs: number;
  /** How long one read may take. */
  readonly readTimeoutMs: number;
  /** How long a look may take, with all that it writes. One that takes longer is given up, and another begins. */
  readonly lookTimeoutMs: number;
  /** How long to wait after a hint for others that belong to it. */
  readonly hintDelayMs: number;
  /** How long to wait after a look that failed. */
  readonly retryMs: number;
}

export const defaultObserverTuning: ObserverTuning = {
  heartbeatMs: 10_000,
  leaseMs: 30_000,
  silentMs: 90_000,
  readEveryMs: 30_000,
  readTimeoutMs: 20_000,
  lookTimeoutMs: 120_000,
  hintDelayMs: 500,
  retryMs: 5_000,
};

/**
 * The watch after one more look. A gap of more than two beats, or a clock that went back, starts it anew: what
 * happened in between, or how long it was, is not known.
 */
export function withHeartbeat(watch: Observation, now: Date, heartbeatMs: number): CurrentObservation {
  const { watchingSince, heartbeatAt } = watch;
  const unbroken =
    watchingSince !== null &&
    heartbeatAt !== null &&
    watchingSince <= now &&
    heartbeatAt <= now &&
    now.getTime() - heartbeatAt.getTime() <= 2 * heartbeatMs;
  return { ...watch, watchingSince: unbroken ? watchingSince : now, heartbeatAt: now };
}

/** How long the engine has been silent as far as the observer can know. The watch has been beaten at `now`. */
export function silenceMs(watch: CurrentObservation, now: Date): number {
  const since = watch.watchingSince.getTime();
  // A time that is yet to come was written before the clock went back. It says nothing.
  const seen = watch.lastSeenAt !== null && watch.lastSeenAt <= now ? watch.lastSeenAt.getTime() : since;
  return now.getTime() - Math.max(since, seen);
}

export function silenceStatus(watch: CurrentObservation, now: Date, silentMs: number): 'waiting' | 'silent' {
  return silenceMs(watch, now) >= silentMs ? 'silent' : 'waiting';
}

/** Whether somebody has looked lately enough for what is shown to be sold. */
export function isObservedSince(heartbeatAt: Date | null, now: Date, unwatchedMs: number): boolean {
  return heartbeatAt !== null && now.getTime() - heartbeatAt.getTime() <= unwatchedMs;
}

/** Whether the lease of another may be taken: it ran out, or its end lies beyond what anybody could have written. */
export function isLeaseFree(until: Date | null, now: Date, leaseMs: number): boolean {
  return until === null || until <= now || until.getTime() > now.getTime() + 2 * leaseMs;
}
