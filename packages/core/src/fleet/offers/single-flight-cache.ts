import type { Timer } from '@millrace/platform/clock';

interface Load<T> {
  /** The answer is as things stood then, or later. */
  readonly startedMs: number;
  readonly value: Promise<T>;
  done: boolean;
}

/**
 * The latest answer to a question that costs something, for many who ask it. It is never asked twice at once, and nobody
 * gets an answer that was begun longer ago than they allow. A failed one is told to those who waited for it and to
 * nobody else.
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
      // Too old for this caller, and still under way: the next one begins when it is done.
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
