import type { Clock } from './clock.ts';

interface Sleeper {
  readonly wakeAtMs: number;
  readonly order: number;
  readonly wake: () => void;
}

// Turns of the event loop between two wake-ups, so that a resumed sleeper can reach its next sleep.
const loopTicksBetweenWakeUps = 3;

function nextLoopTick(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A clock that tests advance. Sleepers resume in the order of wake-up time, then of start, each at its exact time. */
export class SimulatedClock implements Clock {
  #wallMs: number;
  #elapsedMs = 0;
  #order = 0;
  readonly #sleepers = new Set<Sleeper>();

  constructor(startMs = Date.UTC(2026, 0, 1)) {
    this.#wallMs = startMs;
  }

  nowMs(): number {
    return this.#wallMs;
  }

  now(): Date {
    return new Date(this.#wallMs);
  }

  monotonicMs(): number {
    return this.#elapsedMs;
  }

  /** The number of pending waits, so that a test can distinguish waiting from working code. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  after(ms: number, action: () => void): () => void {
    const sleeper: Sleeper = {
      wakeAtMs: this.#elapsedMs + Math.max(0, ms),
      order: this.#order++,
      wake: action,
    };
    this.#sleepers.add(sleeper);
    return () => {
      this.#sleepers.delete(sleeper);
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        cancel();
        reject(signal?.reason);
      };
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Advances time and resumes every sleeper that is due, including those that start to sleep meanwhile. */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError(`Time only moves forward; cannot advance by ${ms} ms.`);
    const targetMs = this.#elapsedMs + ms;
    await this.#settle();
    for (let next = this.#nextUpTo(targetMs); next !== undefined; next = this.#nextUpTo(targetMs)) {
      this.#moveTo(Math.max(this.#elapsedMs, next.wakeAtMs));
      this.#sleepers.delete(next);
      next.wake();
      await this.#settle();
    }
    this.#moveTo(targetMs);
  }

  /** Corrects the wall clock forwards or backwards, as time synchronisation does, without resuming sleepers. */
  stepWallClock(byMs: number): void {
    this.#wallMs += byMs;
  }

  #moveTo(elapsedMs: number): void {
    this.#wallMs += elapsedMs - this.#elapsedMs;
    this.#elapsedMs = elapsedMs;
  }

  #nextUpTo(limitMs: number): Sleeper | undefined {
    let first: Sleeper | undefined;
    for (const sleeper of this.#sleepers) {
      if (sleeper.wakeAtMs > limitMs) continue;
      const earlier =
        first === undefined ||
        sleeper.wakeAtMs < first.wakeAtMs ||
        (sleeper.wakeAtMs === first.wakeAtMs && sleeper.order < first.order);
      if (earlier) first = sleeper;
    }
    return first;
  }

  async #settle(): Promise<void> {
    for (let turn = 0; turn < loopTicksBetweenWakeUps; turn += 1) await nextLoopTick();
  }
}
