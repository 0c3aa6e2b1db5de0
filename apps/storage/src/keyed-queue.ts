import { DriverError } from '@millrace/compute';
import type { Timer } from '@millrace/platform/clock';

/** Limit of waiting work per key, so that repeats of a hanging request use no memory. */
const defaultMaxWaiting = 15;
const maxWaitMs = 60_000;
/** Longer than any request takes unless it hangs. While one hangs, further work with its key is refused at once. */
const hangsAfterMs = 600_000;

export interface KeyedQueueOptions {
  readonly clock: Timer;
  readonly mostWaiting?: number;
}

/** Runs work with the same key one after the other, and work with different keys concurrently. */
export class KeyedQueue {
  readonly #clock: Timer;
  readonly #mostWaiting: number;
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #waiting = new Map<string, number>();
  /** Start time of the running work. */
  readonly #startedMs = new Map<string, number>();

  constructor(options: KeyedQueueOptions) {
    this.#clock = options.clock;
    this.#mostWaiting = options.mostWaiting ?? defaultMaxWaiting;
  }

  isBusy(name: string): boolean {
    return this.#last.has(name);
  }

  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    this.#rejectBlocked(name);
    this.#waiting.set(name, (this.#waiting.get(name) ?? 0) + 1);
    const before = this.#last.get(name) ?? Promise.resolve();
    let isGivenUp = false;
    const begin = async (): Promise<T> => {
      // The caller was refused meanwhile, so the next work runs.
      if (isGivenUp) throw queueTimeoutError(name);
      this.#startedMs.set(name, this.#clock.monotonicMs());
      return work();
    };
    const turn = before.then(begin, begin);
    // The queue ignores outcomes; each caller gets its own.
    const end = (): void => this.#end(name, settled);
    const settled: Promise<void> = turn.then(end, end);
    this.#last.set(name, settled);
    return new Promise<T>((resolve, reject) => {
      let hasStarted = false;
      void before.then(() => {
        hasStarted = true;
      });
      const cancel = this.#clock.after(maxWaitMs, () => {
        if (hasStarted) return;
        isGivenUp = true;
        reject(queueTimeoutError(name));
      });
      turn.then(resolve, reject).finally(cancel);
    });
  }

  /** Resolves when no work is queued or running. */
  async settle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }

  #rejectBlocked(name: string): void {
    const waiting = this.#waiting.get(name) ?? 0;
    if (waiting > this.#mostWaiting)
      throw new DriverError(
        'busy',
        `${waiting} requests for this volume already wait for one in progress; retry later.`,
      );
    const startedMs = this.#startedMs.get(name);
    if (startedMs !== undefined && this.#clock.monotonicMs() - startedMs >= hangsAfterMs)
      throw new DriverError(
        'busy',
        'A request for this volume hangs. An operator must check the storage node.',
      );
  }

  #end(name: string, settled: Promise<unknown>): void {
    this.#startedMs.delete(name);
    const left = (this.#waiting.get(name) ?? 1) - 1;
    if (left > 0) this.#waiting.set(name, left);
    else this.#waiting.delete(name);
    if (this.#last.get(name) === settled) this.#last.delete(name);
  }
}

function queueTimeoutError(name: string): DriverError {
  return new DriverError('busy', `The request for ${name} waited too long for another one; retry later.`);
}
