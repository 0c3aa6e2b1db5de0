import type { BreakerLimits } from './breaker.ts';
import type { ChoiceLimits } from './choose-deployment.ts';
import type { WaitQueueLimits } from './wait-queue.ts';
import type { RetryLimits } from './retry-budget.ts';

/** Every number the router goes by. */
export interface RouterLimits {
  readonly choice: ChoiceLimits;
  readonly breaker: BreakerLimits;
  readonly retry: RetryLimits;
  readonly line: WaitQueueLimits;
  readonly probe: ProbeLimits;
  /** How much of the prompt's beginning decides where it goes. */
  readonly prefixChars: number;
  /** What was measured longer ago is not known any more. */
  readonly measuresLastMs: number;
}

export interface ProbeLimits {
  /** Between two looks at an engine's load, and at the health of one that is not well. */
  readonly everyMs: number;
  /** Between two looks at the health of one that is. */
  readonly healthEveryMs: number;
  readonly timeoutMs: number;
  /** A deployment that nobody asked for in this time is not looked at any more. */
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

/** Whatever was estimated, nobody is told to come back at once, or not for ages. */
export function clampRetryAfterMs(estimateMs: number): number {
  return Math.min(MAX_RETRY_AFTER_MS, Math.max(MIN_RETRY_AFTER_MS, Math.ceil(estimateMs)));
}
