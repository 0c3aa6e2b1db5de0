/** Measures durations and waits. A `Timer` has no time of day, so code that takes one cannot decide by it. */
export interface Timer {
  /** Milliseconds since an arbitrary origin. Never steps backwards. */
  monotonicMs(): number;
  /** Resolves after `ms` milliseconds, at once if not positive, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Runs `action` after `ms` milliseconds unless the returned function is called first. Cheaper than `sleep` for
   * deadlines, which are nearly always cancelled: no promise, no signal. `action` must not throw.
   */
  after(ms: number, action: () => void): () => void;
}

/** The only source of time, so that tests can stop and advance it. */
export interface Clock extends Timer {
  /** Milliseconds since the Unix epoch. May step backwards when the machine's clock is corrected. */
  nowMs(): number;
  now(): Date;
}
