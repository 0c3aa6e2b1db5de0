import type { Clock } from '@millrace/platform/clock';
import type { Logger } from '@millrace/platform/log';

interface Health {
  readonly isServed: boolean;
  /** Why not. */
  readonly detail: string | null;
  readonly seenMs: number;
  /** How often in a row it could not be brought back. */
  readonly failures: number;
}

const probeEveryMs = 10_000;
const firstPauseMs = 1_000;
const maxDoublings = 6;

/** How each volume was when somebody looked last. */
export class HealthTracker {
  readonly #seen = new Map<string, Health>();
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  of(id: string): Pick<Health, 'isServed' | 'detail'> {
    return this.#seen.get(id) ?? { isServed: false, detail: 'It was not looked at yet.' };
  }

  /** Null if it is served. */
  note(id: string, detail: string | null): void {
    const before = this.#seen.get(id);
    const failures = detail === null ? 0 : (before?.failures ?? 0) + 1;
    this.#seen.set(id, { isServed: detail === null, detail, seenMs: this.#clock.monotonicMs(), failures });
    if (detail !== null && before?.detail !== detail)
      this.#log.error({ volume: id, detail }, 'a volume is not served');
    if (detail === null && before?.isServed === false)
      this.#log.info({ volume: id }, 'a volume is served again');
  }

  remove(id: string): void {
    this.#seen.delete(id);
  }

  /** What is to be done now about a volume whose server runs or not. Those that fail again and again are left longer and longer. */
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
