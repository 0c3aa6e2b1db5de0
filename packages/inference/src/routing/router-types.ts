import type { DeploymentEntry, ModelEntry } from '@millrace/core/inference';

/** Types of the router, which chooses a deployment for each request from the state it tracks. */

export interface DeploymentView {
  readonly entry: DeploymentEntry;
  /** Requests of this gateway in flight at this deployment. */
  readonly inFlight: number;
  /** Requests of others according to the engine's metrics; 0 without a recent reading. */
  readonly others: number;
  /** Requests that wait inside the engine, of any sender; 0 without a recent reading. */
  readonly waiting: number;
  /** The engine said within the last second that it is full. */
  readonly isSaturated: boolean;
  readonly health: 'unknown' | 'healthy' | 'degraded' | 'down';
  /** Open: no requests are sent. Half-open: one trial request at a time. */
  readonly breaker: 'closed' | 'half-open' | 'open';
  /** The trial request is in flight. */
  readonly isOnTrial: boolean;
  /** Measured by this gateway; null without a recent measurement. */
  readonly firstTokenMs: number | null;
  readonly tokensPerSecond: number | null;
}

export type RoutePreference = 'affinity' | 'price' | 'latency' | 'throughput';

export interface RouteRequest {
  readonly orgId: string;
  /** Start of the prompt, or '' for none. Equal prefixes go to the same deployment while it has capacity. */
  readonly prefix: string;
  readonly by: RoutePreference;
  /** Deployments that already failed this request. */
  readonly except: ReadonlySet<string>;
}

/** For routing by price: the cost of a million prompt tokens plus a million completion tokens. */
export type DeploymentPriceOf = (deployment: DeploymentEntry) => bigint;

/**
 * Outcome of an upstream call, as far as it says something about the deployment.
 * - `ok`: it responded as it should, which includes 4xx for an invalid client request.
 * - `failed`: unreachable, broken, timed out or 5xx.
 * - `overloaded`: it said that it is full (429, or 503 of a full engine). No failure, but no capacity.
 * - `cancelled`: this gateway ended the call, for example because the client left.
 */
export type UpstreamOutcome = 'ok' | 'failed' | 'overloaded' | 'cancelled';

/** One request to one deployment, in flight until `end`. Its owner must call `end` on every path; repeated calls are ignored. */
export interface UpstreamCall {
  readonly outcome: 'to';
  readonly deployment: DeploymentEntry;
  /** The first event of a stream has arrived. Not called for responses without streaming. */
  firstByte(): void;
  /** `tokens`: the output tokens, for routing by throughput. */
  end(outcome: UpstreamOutcome, tokens?: number): void;
}

export interface NoRoute {
  /** `full`: all usable deployments are full (429 MODEL_OVERLOADED). `none`: none is up (503 MODEL_NOT_AVAILABLE). */
  readonly outcome: 'full' | 'none';
  readonly retryAfterMs: number;
}

export type Route = UpstreamCall | NoRoute;

export interface Router {
  /** Chooses at once and starts the call. Returns `full` while others wait in the model's queue. */
  route(model: ModelEntry, request: RouteRequest, priceOf?: DeploymentPriceOf): Route;
  /**
   * Waits in the model's bounded, fair queue after `route` returned `full`. Resolves to `full` at once if the queue is full or
   * too slow, and after the maximum wait. Rejects with the signal's reason.
   */
  waitForTurn(
    model: ModelEntry,
    request: RouteRequest,
    signal: AbortSignal,
    priceOf?: DeploymentPriceOf,
  ): Promise<Route>;
  /** Returns true and counts the retry if the model's retry budget allows one. */
  mayRetry(model: ModelEntry): boolean;
  /** Whether any deployment accepts requests, full or not. If none does, the caller can use a fallback model. */
  isUp(model: ModelEntry): boolean;
  /** The state of a model's deployments, for metrics and tests. */
  views(model: ModelEntry): readonly DeploymentView[];
  /** Stops the probes and resolves queued requests with `none`. */
  close(): void;
}
