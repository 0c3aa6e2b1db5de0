import type { Timer } from '@millrace/platform/clock';

interface Load<T> {
  /** The value is not older than this time. */
  readonly startedMs: number;
  readonly value: Promise<T>;
  done: boolean;
}

/**
 * Caches an expensive value for many callers. It never loads twice concurrently, and returns no value whose load
 * started longer ago than the caller allows. A failure goes only to the callers that waited for it.
 */
export class SingleFlightCache<T> {
  readonly #clock: Timer;
  readonly #load: () => Promise<T>;
  #latest: Load<T> | null = null;

  constructor(clock: Timer, load: () => Promise<T>) {
    this.#clock = clock;
    this.#load = load;
  }

  async get(maxAgeMs: number): Promise<T> {
    const sinceMs = this.#clock.monotonicMs() - maxAgeMs;
    for (;;) {
      const latest = this.#latest;
      if (latest !== null && latest.startedMs >= sinceMs) return latest.value;
      if (latest === null || latest.done) return this.#start().value;
      // Too old for this caller and still loading: wait, then load again.
      await latest.value.catch(() => undefined);
    }
  }

  #start(): Load<T> {
    const startedMs = this.#clock.monotonicMs();
    const value = this.#load();
    const load: Load<T> = { startedMs, value, done: false };
    this.#latest = load;
    value.then(
      () => {
        load.done = true;
      },
      () => {
        load.done = true;
        if (this.#latest === load) this.#latest = null;
      },
    );
    return load;
  }
}
