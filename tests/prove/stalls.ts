import { systemClock } from '@millrace/platform/clock';

/** A time in which this process did not run: the machine was frozen, or other processes used all of it. */
export interface Stall {
  readonly fromMs: number;
  readonly toMs: number;
}

const TICK_MS = 50;
/** A tick that is later than this is a stall. The shortest time limit of the product is 250 ms. */
const LATE_MS = 150;

/** Records stalls by the monotonic clock until it is disposed of. */
export class StallWatch {
  readonly #stalls: Stall[] = [];
  readonly #timer: NodeJS.Timeout;
  #tickedMs = systemClock.monotonicMs();

  constructor() {
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  get stalls(): readonly Stall[] {
    // Record a stall that ends at this moment, which the timer has not noticed yet.
    this.#tick();
    return this.#stalls;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const nowMs = systemClock.monotonicMs();
    if (nowMs - this.#tickedMs > TICK_MS + LATE_MS)
      this.#stalls.push({ fromMs: this.#tickedMs, toMs: nowMs });
    this.#tickedMs = nowMs;
  }
}

export function stalledMs(stalls: readonly Stall[], fromMs: number, toMs: number): number {
  return stalls.reduce(
    (sum, stall) => sum + Math.max(0, Math.min(toMs, stall.toMs) - Math.max(fromMs, stall.fromMs)),
    0,
  );
}

/** Whether a stall overlaps this time or ended at most `afterMs` before it. */
export function isNearStall(
  stalls: readonly Stall[],
  { startedMs, endedMs }: { readonly startedMs: number; readonly endedMs: number },
  afterMs: number,
): boolean {
  return stalls.some(({ fromMs, toMs }) => startedMs <= toMs + afterMs && endedMs >= fromMs);
}
