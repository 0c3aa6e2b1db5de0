/**
 * Whether a deployment may be sent requests, judged by how those before it ended. It opens after several failures in a row,
 * or when too many of the recent ones failed; after a pause one request at a time may try, and its success closes it. Each
 * trial that fails doubles the pause.
 */
export interface BreakerLimits {
  readonly failuresInRow: number;
  /** Of the last `BREAKER_WINDOW` visits, once there were so many. */
  readonly failuresOfRecent: number;
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
}

export const BREAKER_WINDOW = 20;

const MEMORY_MASK = (1 << BREAKER_WINDOW) - 1;

export class Breaker {
  state: 'closed' | 'half-open' | 'open' = 'closed';
  /** A request that was sent while half-open has neither been answered with a first byte nor ended. */
  isOnTrial = false;
  reopensAtMs = 0;
  /** Of the recent visits. */
  failures = 0;
  readonly #limits: BreakerLimits;
  #pauseMs: number;
  #inRow = 0;
  #remembered = 0;
  /** One bit a visit, 1 for a failure, the latest lowest. */
  #memory = 0;

  constructor(limits: BreakerLimits) {
    this.#limits = limits;
    this.#pauseMs = limits.firstPauseMs;
  }

  /** To be called before the state is read: a pause may be over. */
  refresh(nowMs: number): void {
    if (this.state === 'open' && nowMs >= this.reopensAtMs) this.state = 'half-open';
  }

  /** The deployment has shown signs of life by another way: the pause need not last. */
  shorten(nowMs: number): void {
    if (this.state === 'open') this.reopensAtMs = nowMs;
    this.refresh(nowMs);
  }

  /** A visit begins; true if it is the trial, whose end must then be told as such. */
  begin(): boolean {
    if (this.state !== 'half-open') return false;
    this.isOnTrial = true;
    return true;
  }

  /**
   * The deployment has begun to answer its trial: the breaker closes. The rest of the answer may take as long as its reader
   * likes, and its end counts like that of any other visit.
   */
  passTrial(): void {
    this.isOnTrial = false;
    if (this.state === 'half-open') this.#close();
  }

  /** `null`: the visit ended without telling anything. */
  end(isTrial: boolean, isFailure: boolean | null, nowMs: number): void {
    if (isTrial) this.isOnTrial = false;
    if (isFailure === null) return;
    // While it is not closed only the trial counts: the others began before, and tell of the time before.
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
