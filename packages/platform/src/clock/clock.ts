/** Measures durations and waits. It has no time of day, so code that holds only a `Timer` cannot judge by one. */
export interface Timer {
  /** Milliseconds since an arbitrary origin. Never steps backwards: measure durations with this one. */
  monotonicMs(): number;
  /**
   * Resolves after `ms` milliseconds, or rejects with the signal's reason once it aborts.
   * A zero or negative wait ends at the present instant.
   */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Runs `action` after `ms` milliseconds unless the returned function is called first. The cheap form of `sleep`
   * for deadlines, which are nearly always cancelled: no promise, no signal. `action` must not throw.
   */
  after(ms: number, action: () => void): () => void;
}

/**
 * The only way the product learns the time or waits for it. Everything that has a deadline, a lease or a
 * retry takes a `Clock`, so that a test can hold time still and move it by hand.
 */
export interface Clock extends Timer {
  /** Milliseconds since the Unix epoch. May step backwards when the machine's clock is corrected. */
  nowMs(): number;
  /** The same instant as a `Date`, for columns and wire formats. */
  now(): Date;
}
