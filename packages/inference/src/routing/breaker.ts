/** Circuit breaker of one deployment: stops requests to a failing engine until a single trial request succeeds. */
export interface BreakerLimits {
  readonly failuresInRow: number;
  /** Failures among the last `BREAKER_WINDOW` calls that open the breaker, once that many calls were made. */
  readonly failuresOfRecent: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

export const BREAKER_WINDOW = 20;

const MEMORY_MASK = (1 << BREAKER_WINDOW) - 1;

export class Breaker {
  state: 'closed' | 'half-open' | 'open' = 'closed';
  /** A trial request is in flight and has no first byte yet. */
  isOnTrial = false;
  reopensAtMs = 0;
  failures = 0;
  readonly #limits: BreakerLimits;
  #pauseMs: number;
  #inRow = 0;
  #remembered = 0;
  /** One bit per call, 1 for a failure; the latest call is the lowest bit. */
  #memory = 0;

  constructor(limits: BreakerLimits) {
    this.#limits = limits;
    this.#pauseMs = limits.firstPauseMs;
  }

  /** Call before reading `state`: an elapsed pause makes the breaker half-open. */
  refresh(nowMs: number): void {
    if (this.state === 'open' && nowMs >= this.reopensAtMs) this.state = 'half-open';
  }

  /** Ends the pause early because a probe succeeded. */
  shorten(nowMs: number): void {
    if (this.state === 'open') this.reopensAtMs = nowMs;
    this.refresh(nowMs);
  }

  /** Starts a call. Returns true for the trial; pass that to `end`. */
  begin(): boolean {
    if (this.state !== 'half-open') return false;
    this.isOnTrial = true;
    return true;
  }

  /** The trial got its first byte, so the breaker closes. A slow reader of the rest must not delay other requests. */
  passTrial(): void {
    this.isOnTrial = false;
    if (this.state === 'half-open') this.#close();
  }

  /** `isFailure` is null if the call was cancelled: it says nothing about the deployment. */
  end(isTrial: boolean, isFailure: boolean | null, nowMs: number): void {
    if (isTrial) this.isOnTrial = false;
    if (isFailure === null) return;
    // While open or half-open only the trial counts: the other calls started before the breaker opened.
    if (this.state === 'closed') this.#remember(isFailure, nowMs);
    else if (isTrial && isFailure) this.#open(nowMs);
    else if (isTrial) this.#close();
  }

  #remember(isFailure: boolean, nowMs: number): void {
    const oldest = this.#remembered === BREAKER_WINDOW ? (this.#memory >>> (BREAKER_WINDOW - 1)) & 1 : 0;
    this.#memory = ((this.#memory << 1) | (isFailure ? 1 : 0)) & MEMORY_MASK;
    this.failures += (isFailure ? 1 : 0) - oldest;
    if (this.#remembered < BREAKER_WINDOW) this.#remembered += 1;
    this.#inRow = isFailure ? this.#inRow + 1 : 0;
    const { failuresInRow, failuresOfRecent } = this.#limits;
    const isTooMany = this.#remembered === BREAKER_WINDOW && this.failures >= failuresOfRecent;
    if (this.#inRow >= failuresInRow || isTooMany) this.#open(nowMs);
  }

  #open(nowMs: number): void {
    this.state = 'open';
    this.reopensAtMs = nowMs + this.#pauseMs;
    this.#pauseMs = Math.min(this.#limits.longestPauseMs, this.#pauseMs * 2);
    this.#remove();
  }

  #close(): void {
    this.state = 'closed';
    this.#pauseMs = this.#limits.firstPauseMs;
    this.#remove();
  }

  #remove(): void {
    this.#inRow = 0;
    this.#remembered = 0;
    this.#memory = 0;
    this.failures = 0;
  }
}
