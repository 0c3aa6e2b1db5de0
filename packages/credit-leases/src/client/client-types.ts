import type { Mode } from '@millrace/platform/envelope';
import type { BudgetId, LeaseId, OrgId, RequestId } from '@millrace/platform/ids';
import type { RateDecision } from '@millrace/platform/limiter';
import type { AdmissionErrorReason } from './rejection-reasons.ts';
import type { RequestLimit } from '../protocol/request-limits.ts';

/** What a gateway spends from. One for each process; it needs Valkey for each request and the ledger only now and then. */
export interface CreditLeaseClient {
  /**
   * Sets the worst case of a request aside and counts it against its rate limits, in one call: both or neither. In test
   * mode only the limits are counted. Throws only for what makes no sense.
   */
  reserve(request: ReserveRequest): Promise<Reservation | ReserveRejection>;
  /**
   * Gives the rest back: of the money, up to what was reserved, and of the limits on tokens. To be called once the usage
   * event of the request is acknowledged by the stream, also when nothing was used: until then the epoch of the request
   * counts as in use here. Need not be waited for, and what is settled in the same instant goes to Valkey together.
   */
  settle(reservation: Reservation, actual: bigint, tokens?: number): Promise<void>;
  /** Prolongs what is used and ends what is not. To be called again and again, more often than leases last. */
  maintain(): Promise<void>;
  /** Ends all epochs, once their last requests are settled. */
  close(): Promise<void>;
}

export interface ReserveRequest {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly requestId: RequestId;
  /** The most that the request can cost. */
  readonly amount: bigint;
  /**
   * For a request that can be made smaller: the least that is of use. What is reserved is as much as pot and budgets afford
   * from this up to the amount, and the reservation says how much that is. The whole amount unless said.
   */
  readonly least?: bigint;
  readonly budgets: readonly BudgetId[];
  /** Keep the list and hand in the same one again: it is checked once for each list, not for each request. */
  readonly limits: readonly RequestLimit[];
  /** The most tokens that the request can use: what it costs of limits on tokens. */
  readonly tokens: number;
  /**
   * Resolves to true once a request of the organisation that has ended may have given its rest back, and to false when that takes
   * long. A request that lacks little is not refused for the sake of requests that are over.
   */
  readonly nextSettled?: () => Promise<boolean>;
}

/** With what the usage event has to carry besides the usage. */
export interface Reservation {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly requestId: RequestId;
  /** What was set aside: no more can be charged. */
  readonly amount: bigint;
  readonly budgets: readonly BudgetId[];
  readonly limits: readonly RequestLimit[];
  readonly tokens: number;
  /** Null in test mode, which costs nothing. */
  readonly leaseId: LeaseId | null;
  readonly epoch: bigint;
  readonly gatewayId: string;
  /** By the gateway's own clock. */
  readonly reservedAtMs: number;
  readonly rate: RateDecision;
}

/** Why money or a budget is too small, as far as it is known. */
export interface InsufficientFunds {
  readonly of: 'balance' | 'budget';
  /** The least that the request would have reserved. */
  readonly needed: bigint;
  /** What could be reserved now; null when the ledger did not say. */
  readonly left: bigint | null;
  /** Requests that are running have reserved enough of the rest: trying again may help once they end. */
  readonly isReserved: boolean;
  /** Until the budget starts again; null when it does not, would still be too small, or is not known to. */
  readonly resetsInMs: number | null;
}

export interface ReserveRejection {
  readonly refused: AdmissionErrorReason;
  readonly funds?: InsufficientFunds;
  /** Its `refusedBy` says which limit it was, when it was one. `degraded` when Valkey could not be asked. */
  readonly rate: RateDecision;
}
