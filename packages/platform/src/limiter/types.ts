/** The kind of subject that a limit counts, shown in the 429 body. */
export type LimitScope = 'organisation' | 'key' | 'person' | 'ip' | 'model';

/** A budget of `limit` units that refills evenly over `windowMs`; an idle subject may spend all of it at once. */
export interface RatePolicy {
  /** Stable and public, because `RateLimit-Policy` and the 429 body show it. Lowercase letters, digits, `-`. */
  readonly name: string;
  readonly scope: LimitScope;
  /** An organisation id, a key id or an address block. Never a secret. */
  readonly subject: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Units that the call takes; 1 by default. Zero only peeks. */
  readonly cost?: number;
}

/** The state of a policy after the call. */
export interface PolicyState {
  readonly policy: RatePolicy;
  readonly limit: number;
  /** Free whole units after the call, which a refused call did not reduce. */
  readonly remaining: number;
  /** The time until the budget is full. */
  readonly resetMs: number;
  /** The time until the cost would be admitted; 0 if it was. */
  readonly retryAfterMs: number;
}

export interface RateDecision {
  readonly allowed: boolean;
  /** True if Valkey was unavailable and the call passed uncounted. */
  readonly degraded: boolean;
  /** In the order of the request. */
  readonly policies: readonly PolicyState[];
  /** The policy with the longest wait; null if allowed. */
  readonly refusedBy: PolicyState | null;
}

export interface RateRequest {
  /** The hash tag of all keys, so that one call uses one slot: organisation id or address block. */
  readonly tag: string;
  readonly policies: readonly RatePolicy[];
}

export interface Limiter {
  /** Consumes from all policies if all of them allow the call. Throws only for an invalid policy. */
  consume(request: RateRequest): Promise<RateDecision>;
  /** Returns the same state without consuming. */
  peek(request: RateRequest): Promise<RateDecision>;
}

/** A limiter that can also refund. */
export interface RefundingLimiter extends Limiter {
  /** Refunds the cost of each policy. Refunds that fail are made up by the refill of the budget. */
  giveBack(request: RateRequest): Promise<void>;
}
