/** Decides when a cluster is silent. Only gap-free polling counts: an engine that was not polled was not silent. */

export interface Observation {
  /** Last successful read of the inventory. */
  readonly lastSeenAt: Date | null;
  /** Start of gap-free polling. */
  readonly watchingSince: Date | null;
  /** Last heartbeat of an observer. */
  readonly heartbeatAt: Date | null;
}

export interface CurrentObservation extends Observation {
  readonly watchingSince: Date;
  readonly heartbeatAt: Date;
}

export interface ObserverTuning {
  readonly heartbeatMs: number;
  /** How long a cluster stays leased without a heartbeat. */
  readonly leaseMs: number;
  /** How long an engine may stay silent before its nodes become offline. */
  readonly silentMs: number;
  /** Interval of inventory reads; events trigger additional ones. */
  readonly readEveryMs: number;
  readonly readTimeoutMs: number;
  /** Limit for one poll including its writes. A longer poll is abandoned and another one starts. */
  readonly lookTimeoutMs: number;
  /** Delay after a node event, so that related events cause one read. */
  readonly hintDelayMs: number;
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

/** A gap of more than two intervals, or a clock set back, restarts the observation. */
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

/** Expects an observation with a heartbeat at `now`. */
export function silenceMs(watch: CurrentObservation, now: Date): number {
  const since = watch.watchingSince.getTime();
  // A time in the future was written before the clock was set back and is ignored.
  const seen = watch.lastSeenAt !== null && watch.lastSeenAt <= now ? watch.lastSeenAt.getTime() : since;
  return now.getTime() - Math.max(since, seen);
}

export function silenceStatus(watch: CurrentObservation, now: Date, silentMs: number): 'waiting' | 'silent' {
  return silenceMs(watch, now) >= silentMs ? 'silent' : 'waiting';
}

/** Whether the last heartbeat is recent enough to sell what the fleet shows. */
export function isObservedSince(heartbeatAt: Date | null, now: Date, unwatchedMs: number): boolean {
  return heartbeatAt !== null && now.getTime() - heartbeatAt.getTime() <= unwatchedMs;
}

/** A lease is free if it has expired, or if its end is later than any observer could have written. */
export function isLeaseFree(until: Date | null, now: Date, leaseMs: number): boolean {
  return until === null || until <= now || until.getTime() > now.getTime() + 2 * leaseMs;
}
