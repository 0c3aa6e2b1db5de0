import type { BreakerLimits } from './breaker.ts';
import type { ChoiceLimits } from './choose-deployment.ts';
import type { WaitQueueLimits } from './wait-queue.ts';
import type { RetryLimits } from './retry-budget.ts';

export interface RouterLimits {
  readonly choice: ChoiceLimits;
  readonly breaker: BreakerLimits;
  readonly retry: RetryLimits;
  readonly line: WaitQueueLimits;
  readonly probe: ProbeLimits;
  /** Characters of the prompt's start that decide the deployment. */
  readonly prefixChars: number;
  /** Older measurements are discarded. */
  readonly measuresLastMs: number;
}

export interface ProbeLimits {
  /** Interval of load probes, and of health probes of a deployment that is not healthy. */
  readonly everyMs: number;
  /** Interval of health probes of a healthy deployment. */
  readonly healthEveryMs: number;
  readonly timeoutMs: number;
  /** Probing stops if no request considered the deployment for this time. */
  readonly idleAfterMs: number;
}

export const routerLimits: RouterLimits = {
  choice: { loadFactor: 1.25, freeLoad: 4, maxEngineWaiting: 32 },
  breaker: { failuresInRow: 5, failuresOfRecent: 10, firstPauseMs: 2_000, longestPauseMs: 60_000 },
  retry: { shareOfRequests: 0.2, always: 100 },
  line: { maxWaiting: 256, maxWaitingPerOrganisation: 64, maxWaitMs: 10_000 },
  probe: { everyMs: 1_000, healthEveryMs: 5_000, timeoutMs: 1_000, idleAfterMs: 30_000 },
  prefixChars: 1_024,
  measuresLastMs: 60_000,
};

const MIN_RETRY_AFTER_MS = 1_000;
const MAX_RETRY_AFTER_MS = 30_000;

/** Limits the estimate, so that clients retry neither at once nor after minutes. */
export function clampRetryAfterMs(estimateMs: number): number {
  return Math.min(MAX_RETRY_AFTER_MS, Math.max(MIN_RETRY_AFTER_MS, Math.ceil(estimateMs)));
}
