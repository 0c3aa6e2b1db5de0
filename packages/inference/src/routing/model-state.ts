import type { ModelEntry } from '@millrace/core/inference';
import type { Candidate } from './choose-deployment.ts';
import { runningMean, type DeploymentState } from './deployment-state.ts';
import { clampRetryAfterMs, type RouterLimits } from './limits.ts';
import { WaitQueue } from './wait-queue.ts';
import { RetryBudget } from './retry-budget.ts';
import type { NoRoute, DeploymentPriceOf, Route, RouteRequest } from './router-types.ts';
import type { EngineMetrics } from './engine-metrics.ts';
import type { DeploymentMonitor } from './deployment-monitor.ts';

/** A request in the wait queue of a model. */
export interface QueuedRequest {
  readonly orgId: string;
  readonly key: number;
  readonly request: RouteRequest;
  readonly priceOf: DeploymentPriceOf | undefined;
  readonly settle: (route: Route) => void;
}

export interface MonitoredDeployment extends Candidate {
  readonly state: DeploymentState;
  readonly watch: DeploymentMonitor;
  readonly metrics: EngineMetrics;
}

/** One version of a model's entry in the key feed, with its deployments. */
export interface ModelSnapshot {
  readonly entry: ModelEntry;
  readonly model: ModelState;
  readonly deployments: readonly MonitoredDeployment[];
}

/** State of a model that is shared by all versions of its entry. */
export class ModelState {
  readonly line: WaitQueue<QueuedRequest>;
  readonly budget: RetryBudget;
  lastUsedMs = 0;
  /** The entry that was used last. Queued requests are routed by it. */
  latest: ModelSnapshot | null = null;
  #callMs: number | null = null;
  #turnMs: number | null = null;
  #lastTurnMs: number | null = null;

  constructor(limits: RouterLimits) {
    this.line = new WaitQueue(limits.line);
    this.budget = new RetryBudget(limits.retry);
  }

  callEnded(tookMs: number, nowMs: number): void {
    this.#callMs = runningMean(this.#callMs, tookMs);
    // The pace of the queue can be measured only while requests wait.
    if (this.line.size === 0) {
      this.#lastTurnMs = null;
      return;
    }
    if (this.#lastTurnMs !== null) this.#turnMs = runningMean(this.#turnMs, nowMs - this.#lastTurnMs);
    this.#lastTurnMs = nowMs;
  }

  /** Expected wait behind this many others; 0 while unknown. */
  waitMs(before: number): number {
    return this.#turnMs === null ? 0 : this.#turnMs * (before + 1);
  }

  full(): NoRoute {
    const estimateMs = this.line.size > 0 ? this.waitMs(this.line.size) : (this.#callMs ?? 0);
    return { outcome: 'full', retryAfterMs: clampRetryAfterMs(estimateMs) };
  }
}
