import { DriverError } from '@millrace/compute';
import type { Timer } from '@millrace/platform/clock';

/** At most this many wait under one name. More are refused, so that repeats of an order that hangs use no memory. */
const defaultMaxWaiting = 15;
/** An order that has not come to its turn by then is refused. */
const maxWaitMs = 60_000;
/** Longer than any order takes that does not hang. While one hangs, further orders under its name are refused at once. */
const hangsAfterMs = 600_000;

export interface KeyedQueueOptions {
  readonly clock: Timer;
  readonly mostWaiting?: number;
}

/** Work under one name waits for what was begun under it before; work under different names does not. */
export class KeyedQueue {
  readonly #clock: Timer;
  readonly #mostWaiting: number;
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #waiting = new Map<string, number>();
  /** When the work that has the turn began. */
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
      // Its caller was refused meanwhile; the turn goes on to the next.
      if (isGivenUp) throw queueTimeoutError(name);
      this.#startedMs.set(name, this.#clock.monotonicMs());
      return work();
    };
    const turn = before.then(begin, begin);
    // Only the order counts here; how it went is told to whoever asked.
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

  /** Resolves when nothing is under way. */
  async settle(): Promise<void> {
    while (this.#last.size > 0) await Promise.all(this.#last.values());
  }

  #rejectBlocked(name: string): void {
    const waiting = this.#waiting.get(name) ?? 0;
    if (waiting > this.#mostWaiting)
      throw new DriverError('busy', `Orders of this volume wait for one that is under way: ${waiting}.`);
    const startedMs = this.#startedMs.get(name);
    if (startedMs !== undefined && this.#clock.monotonicMs() - startedMs >= hangsAfterMs)
      throw new DriverError('busy', 'An order of this volume hangs. A person must look at the storage node.');
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
  return new DriverError('busy', `The order for ${name} waited too long for another one.`);
}
