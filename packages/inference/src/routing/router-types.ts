import type { DeploymentEntry, ModelEntry } from '@millrace/core/inference';

/** Where a request goes: a pure choice over what is known of the deployments now, and the bookkeeping that keeps it known. */

export interface DeploymentView {
  readonly entry: DeploymentEntry;
  /** Requests of this gateway that are there now. */
  readonly inFlight: number;
  /** Requests of others that are there, by the engine's own metrics; 0 when it could not be asked lately. */
  readonly others: number;
  /** Of all that are there, those that wait inside the engine; 0 when it could not be asked lately. */
  readonly waiting: number;
  /** The engine itself said a moment ago that it takes no more. */
  readonly isSaturated: boolean;
  readonly health: 'unknown' | 'healthy' | 'degraded' | 'down';
  /** Open: nothing is sent. Half-open: one request at a time may try. */
  readonly breaker: 'closed' | 'half-open' | 'open';
  /** That one request is under way. */
  readonly isOnTrial: boolean;
  /** Measured by this gateway; null when it was not measured lately. */
  readonly firstTokenMs: number | null;
  readonly tokensPerSecond: number | null;
}

export type RoutePreference = 'affinity' | 'price' | 'latency' | 'throughput';

export interface RouteRequest {
  readonly orgId: string;
  /** The beginning of the prompt, or '' for none: equal beginnings go to the same place while it has room. */
  readonly prefix: string;
  readonly by: RoutePreference;
  /** Those that have failed this request already. */
  readonly except: ReadonlySet<string>;
}

/** For the order by price: what a million prompt and a million completion tokens cost there together. */
export type DeploymentPriceOf = (deployment: DeploymentEntry) => bigint;

/**
 * How a visit ended, as far as the deployment is to be judged by it.
 * - `ok`: it answered as it should; a refusal of what the client sent (4xx) is one of these.
 * - `failed`: unreachable, broken, too late or 5xx.
 * - `overloaded`: it said that it is full (429, or 503 of an engine that is full): no fault, but no room either.
 * - `cancelled`: we ended it, for the client left or another reason of ours: says nothing about it.
 */
export type UpstreamOutcome = 'ok' | 'failed' | 'overloaded' | 'cancelled';

/**
 * One request at one deployment. It counts from the moment it is handed out, so whoever got one ends it exactly once,
 * on every path; a second `end` is ignored.
 */
export interface UpstreamCall {
  readonly outcome: 'to';
  readonly deployment: DeploymentEntry;
  /** Of a stream: the first event has arrived. Not called for an answer that comes whole. */
  firstByte(): void;
  /** `tokens` is what it produced, for the order by throughput. */
  end(outcome: UpstreamOutcome, tokens?: number): void;
}

export interface NoRoute {
  /** `full`: all that could take it are (429 MODEL_OVERLOADED). `none`: none is up (503 MODEL_NOT_AVAILABLE). */
  readonly outcome: 'full' | 'none';
  readonly retryAfterMs: number;
}

export type Route = UpstreamCall | NoRoute;

export interface Router {
  /** Chooses at once, and begins the visit. While others wait in line for the model a newcomer is told `full`. */
  route(model: ModelEntry, request: RouteRequest, priceOf?: DeploymentPriceOf): Route;
  /**
   * For whom `route` said `full`: waits in the model's bounded line, organisations in turn. Answers `full` at once when the
   * line is full or would take too long, and later when the longest wait is over. Rejects with the signal's reason.
   */
  waitForTurn(
    model: ModelEntry,
    request: RouteRequest,
    signal: AbortSignal,
    priceOf?: DeploymentPriceOf,
  ): Promise<Route>;
  /** Whether one more attempt elsewhere is within the model's retry budget; true uses it. */
  mayRetry(model: ModelEntry): boolean;
  /** Whether any deployment of it can be sent requests, full or not: without one, another model may stand in. */
  isUp(model: ModelEntry): boolean;
  /** What is known now of the deployments of a model, for metrics and tests. */
  views(model: ModelEntry): readonly DeploymentView[];
  /** Ends the probes; those who wait in line are told `none`. */
  close(): void;
}
