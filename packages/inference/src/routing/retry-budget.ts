import { msToSecondsRoundDown } from '@millrace/platform/money';

/** Limits retries to a share of the recent requests, so that they cannot multiply the load of a failing model. */
export interface RetryLimits {
  readonly shareOfRequests: number;
  readonly always: number;
}

export const RETRY_WINDOW_SECONDS = 10;

export class RetryBudget {
  readonly #limits: RetryLimits;
  readonly #requests = new Int32Array(RETRY_WINDOW_SECONDS);
  readonly #retries = new Int32Array(RETRY_WINDOW_SECONDS);
  #second = 0;
  #recentRequests = 0;
  #recentRetries = 0;

  constructor(limits: RetryLimits) {
    this.#limits = limits;
  }

  countRequest(nowMs: number): void {
    const slot = this.#slotAt(nowMs);
    this.#requests[slot] = (this.#requests[slot] ?? 0) + 1;
    this.#recentRequests += 1;
  }

  /** Returns true and counts the retry if the budget allows it. */
  take(nowMs: number): boolean {
    const slot = this.#slotAt(nowMs);
    const { shareOfRequests, always } = this.#limits;
    if (this.#recentRetries >= Math.max(always, shareOfRequests * this.#recentRequests)) return false;
    this.#retries[slot] = (this.#retries[slot] ?? 0) + 1;
    this.#recentRetries += 1;
    return true;
  }

  #slotAt(nowMs: number): number {
    const second = msToSecondsRoundDown(nowMs);
    const first = Math.max(this.#second + 1, second - RETRY_WINDOW_SECONDS + 1);
    for (let passed = first; passed <= second; passed += 1) {
      const slot = passed % RETRY_WINDOW_SECONDS;
      this.#recentRequests -= this.#requests[slot] ?? 0;
      this.#recentRetries -= this.#retries[slot] ?? 0;
      this.#requests[slot] = 0;
      this.#retries[slot] = 0;
    }
    this.#second = Math.max(this.#second, second);
    return this.#second % RETRY_WINDOW_SECONDS;
  }
}
