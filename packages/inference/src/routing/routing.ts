import type { DeploymentEntry } from '@millrace/core/inference';

/** Where a request goes: a pure choice over what is known of the deployments now. */

export interface DeploymentView {
  readonly entry: DeploymentEntry;
  /** Requests of this gateway that are there now. */
  readonly inFlight: number;
  /** From the engine's own metrics; null when it could not be asked lately. */
  readonly running: number | null;
  readonly waiting: number | null;
  readonly health: 'unknown' | 'healthy' | 'degraded' | 'down';
  /** Open: nothing is sent. Half-open: one request at a time may try. */
  readonly breaker: 'closed' | 'half-open' | 'open';
  /** Measured by this gateway; null before the first. */
  readonly firstTokenMs: number | null;
  readonly tokensPerSecond: number | null;
  /** What a million prompt and a million completion tokens cost there together. */
  readonly priceNanoUsd: bigint;
}

export interface RouteWish {
  readonly orgId: string;
  /** The beginning of the prompt, or '' for none: equal beginnings go to the same place while it has room. */
  readonly prefix: string;
  readonly by: 'affinity' | 'price' | 'latency' | 'throughput';
  /** Those that have failed this request already. */
  readonly except: ReadonlySet<string>;
}

export type Route =
  | { readonly outcome: 'to'; readonly deployment: DeploymentEntry }
  /** All that could take it are full: come back after so long. */
  | { readonly outcome: 'full'; readonly retryAfterMs: number }
  /** None is up. */
  | { readonly outcome: 'none'; readonly retryAfterMs: number };
