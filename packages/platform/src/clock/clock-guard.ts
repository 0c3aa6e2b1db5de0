import type { Logger } from '../log/index.ts';
import { gauge } from '../telemetry/index.ts';
import type { RemoteClock, Skew } from './remote-clock.ts';

const skewGauge = gauge('millrace_clock_skew_seconds');
const skewedGauge = gauge('millrace_clock_wrong');

/** Above this skew a process does not charge, end or delete. */
const MAX_SKEW_MS = 2_000;
/** A stopped process resumes below this skew. It is lower than MAX_SKEW_MS to prevent flapping. */
const RECOVERED_SKEW_MS = 1_000;
const RECORD_EVERY_MS = 1_000;
const MS_TO_SECONDS = 1e-3;

/** Thrown in place of work that charges, ends or deletes while the clock of the process is wrong. */
export class ClockSkewError extends Error {
  override readonly name = 'ClockSkewError';
}

export interface ClockGuardOptions {
  /** The clock to compare with, and its name in messages, such as `database`. */
  readonly reference: RemoteClock;
  readonly name: string;
  readonly log: Pick<Logger, 'error' | 'warn'>;
}

/**
 * Compares the wall clock of the process with a reference, at each reading and on each check. The skew is known between
 * two bounds; only the one nearer to zero counts, so a slow response is not a wrong clock.
 */
export class ClockGuard {
  readonly #options: ClockGuardOptions;
  #isWrong = false;
  #recordedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ClockGuardOptions) {
    this.#options = options;
  }

  /** Null while the clock is right. Otherwise a message for an operator with the problem and its repair. */
  problem(): string | null {
    const { reference, name, log } = this.#options;
    const skew = reference.skew();
    if (skew === null) return null;
    const leastMs = nearestToZero(skew);
    const wasWrong = this.#isWrong;
    this.#isWrong = Math.abs(leastMs) > (wasWrong ? RECOVERED_SKEW_MS : MAX_SKEW_MS);
    this.#record(skew, wasWrong !== this.#isWrong);
    if (!this.#isWrong) {
      if (wasWrong) log.warn({ skewMs: Math.round(leastMs) }, 'clock of this process is right again');
      return null;
    }
    const problem = describe(leastMs, name);
    if (!wasWrong) log.error({ skewMs: Math.round(leastMs) }, problem);
    return problem;
  }

  require(): void {
    const problem = this.problem();
    if (problem !== null) throw new ClockSkewError(problem);
  }

  #record(skew: Skew, hasChanged: boolean): void {
    const nowMs = this.#options.reference.monotonicMs();
    if (!hasChanged && nowMs - this.#recordedMs < RECORD_EVERY_MS) return;
    this.#recordedMs = nowMs;
    const against = { reference: this.#options.name };
    skewGauge.record(nearestToZero(skew) * MS_TO_SECONDS, against);
    skewedGauge.record(this.#isWrong ? 1 : 0, against);
  }
}

function nearestToZero({ fromMs, toMs }: Skew): number {
  if (fromMs > 0) return fromMs;
  return toMs < 0 ? toMs : 0;
}

function describe(skewMs: number, name: string): string {
  const seconds = (Math.abs(skewMs) * MS_TO_SECONDS).toFixed(1);
  const side = skewMs > 0 ? 'ahead of' : 'behind';
  return (
    `The clock of this machine is ${seconds} s ${side} the clock of the ${name}. Until they agree, this process does ` +
    `not charge, end or delete anything. Check time synchronisation (NTP) on this machine and on the ${name}'s.`
  );
}
