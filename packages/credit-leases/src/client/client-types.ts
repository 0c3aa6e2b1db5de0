import type { Mode } from '@millrace/platform/envelope';
import type { BudgetId, LeaseId, OrgId, RequestId } from '@millrace/platform/ids';
import type { RateDecision } from '@millrace/platform/limiter';
import type { AdmissionErrorReason } from './rejection-reasons.ts';
import type { RequestLimit } from '../protocol/request-limits.ts';

/** Reserves and settles requests, one client per process. Each request needs Valkey; the ledger is rarely needed. */
export interface CreditLeaseClient {
  /**
   * Reserves the maximum cost and counts the rate limits in one call: both or neither. Test mode only counts the limits. Throws
   * only for invalid input.
   */
  reserve(request: ReserveRequest): Promise<Reservation | ReserveRejection>;
  /**
   * Returns the unused credit and tokens. Call it after the stream has acknowledged the usage event, also if nothing was used:
   * until then the epoch counts as in use. It need not be awaited; simultaneous settlements share one Valkey call.
   */
  settle(reservation: Reservation, actual: bigint, tokens?: number): Promise<void>;
  /** Renews used leases and returns idle ones. Call it more often than leases expire. */
  maintain(): Promise<void>;
  /** Ends all epochs after their last requests are settled. */
  close(): Promise<void>;
}

export interface ReserveRequest {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly requestId: RequestId;
  /** The maximum cost of the request. */
  readonly amount: bigint;
  /** The smallest accepted amount of a request that can be reduced (default: `amount`). As much as possible is reserved. */
  readonly least?: bigint;
  readonly budgets: readonly BudgetId[];
  /** Pass the same list object again: each list is checked once, not per request. */
  readonly limits: readonly RequestLimit[];
  /** The maximum number of tokens of the request, counted against token limits. */
  readonly tokens: number;
  /** Resolves to true when another request of the organisation may have settled, to false if that takes too long. */
  readonly nextSettled?: () => Promise<boolean>;
}

export interface Reservation {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly requestId: RequestId;
  /** The reserved amount; no more can be charged. */
  readonly amount: bigint;
  readonly budgets: readonly BudgetId[];
  readonly limits: readonly RequestLimit[];
  readonly tokens: number;
  /** Null in test mode, which is free. */
  readonly leaseId: LeaseId | null;
  readonly epoch: bigint;
  readonly gatewayId: string;
  /** By the gateway's clock. */
  readonly reservedAtMs: number;
  readonly rate: RateDecision;
}

/** Why the balance or a budget is too small, as far as known. */
export interface InsufficientFunds {
  readonly of: 'balance' | 'budget';
  /** The smallest amount that the request accepts. */
  readonly needed: bigint;
  /** The amount that could be reserved now; null if the ledger did not report it. */
  readonly left: bigint | null;
  /** Running requests have reserved enough of the rest: retrying may succeed after they end. */
  readonly isReserved: boolean;
  /** Time until the budget resets; null if it does not reset, would still be too small, or is unknown. */
  readonly resetsInMs: number | null;
}

export interface ReserveRejection {
  readonly refused: AdmissionErrorReason;
  readonly funds?: InsufficientFunds;
  /** `refusedBy` names the exceeded limit, if any. `degraded` if Valkey could not be reached. */
  readonly rate: RateDecision;
}
