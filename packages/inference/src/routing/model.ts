import type { ModelEntry } from '@millrace/core/inference';
import type { Candidate } from './choose.ts';
import { mean, type Deployment } from './deployment.ts';
import { retryAfter, type RouterLimits } from './limits.ts';
import { Line } from './line.ts';
import { RetryBudget } from './retry-budget.ts';
import type { NoRoute, PriceOf, Route, RouteWish } from './routing.ts';
import type { Watch } from './watch.ts';

/** One who waits for room. */
export interface Waiter {
  readonly orgId: string;
  readonly key: number;
  readonly wish: RouteWish;
  readonly priceOf: PriceOf | undefined;
  readonly settle: (route: Route) => void;
}

/** A deployment with the one who looks after it. */
export interface Seat extends Candidate {
  readonly state: Deployment;
  readonly watch: Watch;
}

/** One version of a model's entry in the book, with the deployments it names. */
export interface Placement {
  readonly entry: ModelEntry;
  readonly model: Model;
  readonly seats: readonly Seat[];
}

/** What is kept of a model whatever version of its entry is asked for. */
export class Model {
  readonly line: Line<Waiter>;
  readonly budget: RetryBudget;
  lastUsedMs = 0;
  /** The entry that was met last: those in line go by it. */
  latest: Placement | null = null;
  #visitMs: number | null = null;
  #turnMs: number | null = null;
  #lastTurnMs: number | null = null;

  constructor(limits: RouterLimits) {
    this.line = new Line(limits.line);
    this.budget = new RetryBudget(limits.retry);
  }

  visitEnded(tookMs: number, nowMs: number): void {
    this.#visitMs = mean(this.#visitMs, tookMs);
    // How fast the line moves shows only while there is one.
    if (this.line.size === 0) {
      this.#lastTurnMs = null;
      return;
    }
    if (this.#lastTurnMs !== null) this.#turnMs = mean(this.#turnMs, nowMs - this.#lastTurnMs);
    this.#lastTurnMs = nowMs;
  }

  /** How long one waits behind so many others; 0 while nothing is known. */
  waitMs(before: number): number {
    return this.#turnMs === null ? 0 : this.#turnMs * (before + 1);
  }

  full(): NoRoute {
    const estimateMs = this.line.size > 0 ? this.waitMs(this.line.size) : (this.#visitMs ?? 0);
    return { outcome: 'full', retryAfterMs: retryAfter(estimateMs) };
  }
}
