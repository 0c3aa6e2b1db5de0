import { perSecond } from '@millrace/platform/money';
import { Breaker, type BreakerLimits } from './breaker.ts';
import type { LoadReading } from './engine-load.ts';
import type { DeploymentView, UpstreamOutcome } from './router-types.ts';

/** Consecutive failed probes after which a deployment is down. One failed probe makes it degraded. */
const PROBES_TO_BE_DOWN = 2;
/** Failures among the recent calls that make a deployment degraded. */
const FAILURES_TO_BE_DEGRADED = 3;
/** Pause after an engine said that it is full. */
const SATURATED_MS = 1_000;
/** Weight of the newest value in the running means. */
const NEWEST = 0.2;

export interface DeploymentLimits {
  readonly breaker: BreakerLimits;
  readonly measuresLastMs: number;
  readonly readingsLastMs: number;
}

/** State of one deployment as seen by this gateway. Call `refresh` before reading the fields: some expire. */
export class DeploymentState implements Omit<DeploymentView, 'entry'> {
  inFlight = 0;
  others = 0;
  waiting = 0;
  isSaturated = false;
  health: DeploymentView['health'] = 'unknown';
  firstTokenMs: number | null = null;
  tokensPerSecond: number | null = null;
  /** Last time a request considered this deployment. */
  lastUsedMs = 0;
  /** The router removed this state: holders must look the deployment up again. */
  isRemoved = false;

  readonly #breaker: Breaker;
  readonly #limits: DeploymentLimits;
  #saturatedUntilMs = 0;
  #aliveAtMs = Number.NEGATIVE_INFINITY;
  #failedProbes = 0;
  #isKnownWell = false;
  #reading: LoadReading | null = null;
  #readAtMs = 0;
  #inFlightWhenRead = 0;
  #firstTokenAtMs = 0;
  #throughputAtMs = 0;

  constructor(limits: DeploymentLimits) {
    this.#limits = limits;
    this.#breaker = new Breaker(limits.breaker);
  }

  get breaker(): DeploymentView['breaker'] {
    return this.#breaker.state;
  }

  get isOnTrial(): boolean {
    return this.#breaker.isOnTrial;
  }

  /** When the breaker allows the next trial; null unless it is open. */
  get reopensAtMs(): number | null {
    return this.#breaker.state === 'open' ? this.#breaker.reopensAtMs : null;
  }

  refresh(nowMs: number): void {
    this.#breaker.refresh(nowMs);
    this.isSaturated = nowMs < this.#saturatedUntilMs;
    if (this.#reading !== null) this.#countOthers(this.#reading, nowMs);
    const oldestMs = nowMs - this.#limits.measuresLastMs;
    if (this.#firstTokenAtMs < oldestMs) this.firstTokenMs = null;
    if (this.#throughputAtMs < oldestMs) this.tokensPerSecond = null;
  }

  /** Returns true if this call is the trial of a half-open breaker. */
  begin(): boolean {
    this.inFlight += 1;
    return this.#breaker.begin();
  }

  firstByte(afterMs: number, isTrial: boolean, nowMs: number): void {
    if (isTrial) this.#breaker.passTrial();
    this.firstTokenMs = runningMean(this.firstTokenMs, afterMs);
    this.#firstTokenAtMs = nowMs;
    this.#noteAlive(nowMs);
  }

  end(outcome: UpstreamOutcome, isTrial: boolean, nowMs: number): void {
    this.inFlight -= 1;
    this.#breaker.end(isTrial, outcome === 'cancelled' ? null : outcome === 'failed', nowMs);
    if (outcome === 'overloaded') this.#saturatedUntilMs = nowMs + SATURATED_MS;
    if (outcome === 'ok' || outcome === 'overloaded') this.#noteAlive(nowMs);
    else this.#decide();
  }

  produced(tokens: number, inMs: number, nowMs: number): void {
    if (tokens <= 0 || inMs <= 0) return;
    this.tokensPerSecond = runningMean(this.tokensPerSecond, perSecond(tokens, inMs));
    this.#throughputAtMs = nowMs;
  }

  /** `isWell` is null if the server responded but has no health page. */
  probed(isWell: boolean | null, nowMs: number): void {
    const wasDown = this.health === 'down';
    this.#failedProbes = 0;
    this.#isKnownWell = isWell === true;
    this.#decide();
    if (wasDown) this.#breaker.shorten(nowMs);
  }

  probeFailed(sentAtMs: number): void {
    // A response to a request since the probe was sent outweighs a probe that failed or came late.
    if (this.#aliveAtMs >= sentAtMs) return;
    this.#failedProbes += 1;
    this.#decide();
  }

  /** `inFlightWhenSent`: calls that ended since the probe was sent are still counted in the engine's response. */
  read(reading: LoadReading, inFlightWhenSent: number, nowMs: number): void {
    this.#reading = reading;
    this.#readAtMs = nowMs;
    this.#inFlightWhenRead = Math.max(inFlightWhenSent, this.inFlight);
    this.#countOthers(reading, nowMs);
  }

  /** Probing stopped: discard probe results. The breaker keeps the results of calls. */
  unwatched(): void {
    this.#failedProbes = 0;
    this.#isKnownWell = false;
    this.#decide();
  }

  #countOthers(reading: LoadReading, nowMs: number): void {
    if (nowMs - this.#readAtMs > this.#limits.readingsLastMs) {
      this.#reading = null;
      this.others = 0;
      this.waiting = 0;
      return;
    }
    // Only the calls of others are as old as the reading. If requests waited then, our later calls wait too.
    this.others = Math.max(0, reading.running + reading.waiting - this.#inFlightWhenRead);
    const sentSince = this.inFlight - this.#inFlightWhenRead;
    this.waiting = reading.waiting === 0 ? 0 : Math.max(0, reading.waiting + sentSince);
  }

  #noteAlive(nowMs: number): void {
    this.#aliveAtMs = nowMs;
    this.#failedProbes = 0;
    this.#decide();
  }

  #decide(): void {
    if (this.#failedProbes >= PROBES_TO_BE_DOWN) this.health = 'down';
    else if (this.#failedProbes > 0 || this.#breaker.failures >= FAILURES_TO_BE_DEGRADED)
      this.health = 'degraded';
    else this.health = this.#isKnownWell ? 'healthy' : 'unknown';
  }
}

export function runningMean(before: number | null, newest: number): number {
  return before === null ? newest : before + NEWEST * (newest - before);
}
