import type { Clock } from './clock.ts';

/** One reading of another machine's clock, made between `sentMs` and `receivedMs` of our monotonic time. */
export interface ClockReading {
  readonly remoteMs: number;
  readonly sentMs: number;
  readonly receivedMs: number;
}

/** Bounds of the difference between the process's wall clock and the remote clock. */
export interface Skew {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The maximum drift of two clocks as a share of the time since the last reading (NTP slews by at most 500 ppm). */
const DRIFT = 0.0005;

/**
 * Computes the time of another machine from readings of its clock and monotonic time, without the wall clock of this
 * process. Each reading bounds the offset: a slow response widens the bounds, readings that agree narrow them. The
 * result is never ahead of the remote clock.
 */
export class RemoteClock implements Clock {
  readonly #name: string;
  readonly #local: Clock;
  #bounds: { readonly low: number; readonly high: number; readonly atMs: number } | null = null;

  constructor(name: string, local: Clock) {
    this.#name = name;
    this.#local = local;
  }

  /** Records a reading and returns a clock that uses only this reading, regardless of later ones. */
  take({ remoteMs, sentMs, receivedMs }: ClockReading): Clock {
    const read = { low: remoteMs - receivedMs, high: remoteMs - sentMs };
    const known = this.#boundsAt(receivedMs);
    const low = known === null ? read.low : Math.max(read.low, known.low);
    const high = known === null ? read.high : Math.min(read.high, known.high);
    // Bounds that exclude each other mean that one of the clocks was set, so only the newest reading counts.
    const agreed = low <= high ? { low, high } : read;
    this.#bounds = { ...agreed, atMs: receivedMs };
    return new OffsetClock(this.#local, agreed.low);
  }

  get isKnown(): boolean {
    return this.#bounds !== null;
  }

  /** The wall clock of this process minus the remote clock; null before the first reading. */
  skew(): Skew | null {
    const monotonicMs = this.#local.monotonicMs();
    const bounds = this.#boundsAt(monotonicMs);
    if (bounds === null) return null;
    const wallMs = this.#local.nowMs();
    return { fromMs: wallMs - (monotonicMs + bounds.high), toMs: wallMs - (monotonicMs + bounds.low) };
  }

  ageMs(): number | null {
    return this.#bounds === null ? null : this.#local.monotonicMs() - this.#bounds.atMs;
  }

  nowMs(): number {
    if (this.#bounds === null) {
      throw new Error(`The time of the ${this.#name} is not known yet. Read its clock once before using it.`);
    }
    return Math.floor(this.#local.monotonicMs() + this.#bounds.low);
  }

  now(): Date {
    return new Date(this.nowMs());
  }

  monotonicMs(): number {
    return this.#local.monotonicMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#local.sleep(ms, signal);
  }

  after(ms: number, action: () => void): () => void {
    return this.#local.after(ms, action);
  }

  #boundsAt(monotonicMs: number): { readonly low: number; readonly high: number } | null {
    if (this.#bounds === null) return null;
    const { low, high, atMs } = this.#bounds;
    const driftMs = Math.max(0, monotonicMs - atMs) * DRIFT;
    return { low: low - driftMs, high: high + driftMs };
  }
}

/** A clock at a fixed offset from monotonic time. */
class OffsetClock implements Clock {
  readonly #local: Clock;
  readonly #offsetMs: number;

  constructor(local: Clock, offsetMs: number) {
    this.#local = local;
    this.#offsetMs = offsetMs;
  }

  nowMs(): number {
    return Math.floor(this.#local.monotonicMs() + this.#offsetMs);
  }

  now(): Date {
    return new Date(this.nowMs());
  }

  monotonicMs(): number {
    return this.#local.monotonicMs();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#local.sleep(ms, signal);
  }

  after(ms: number, action: () => void): () => void {
    return this.#local.after(ms, action);
  }
}
