import type { Clock } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';

interface Health {
  readonly isServed: boolean;
  /** Why it is not served. */
  readonly detail: string | null;
  readonly seenMs: number;
  /** Consecutive failures. */
  readonly failures: number;
}

const probeEveryMs = 10_000;
const firstPauseMs = 1_000;
const maxDoublings = 6;

/** Remembers the result of the last check of each volume. */
export class HealthTracker {
  readonly #seen = new Map<string, Health>();
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  of(id: string): Pick<Health, 'isServed' | 'detail'> {
    return this.#seen.get(id) ?? { isServed: false, detail: 'The agent has not checked the volume yet.' };
  }

  /** `detail` is null if the volume is served. */
  note(id: string, detail: string | null): void {
    const before = this.#seen.get(id);
    const failures = detail === null ? 0 : (before?.failures ?? 0) + 1;
    this.#seen.set(id, { isServed: detail === null, detail, seenMs: this.#clock.monotonicMs(), failures });
    if (detail !== null && before?.detail !== detail)
      this.#log.error({ volume: id, detail }, 'volume is not served');
    if (detail === null && before?.isServed === false)
      this.#log.info({ volume: id }, 'volume is served again');
  }

  remove(id: string): void {
    this.#seen.delete(id);
  }

  /** The next check of a volume, with exponential backoff after failures. */
  due(id: string, isRunning: boolean): 'nothing' | 'ask' | 'bring' {
    const seen = this.#seen.get(id);
    if (seen === undefined) return 'bring';
    const ageMs = this.#clock.monotonicMs() - seen.seenMs;
    if (seen.isServed) {
      if (!isRunning) return 'bring';
      return ageMs < probeEveryMs ? 'nothing' : 'ask';
    }
    const pauseMs = firstPauseMs * 2 ** Math.min(seen.failures - 1, maxDoublings);
    return ageMs < pauseMs ? 'nothing' : 'bring';
  }
}
