/** Who a limit counts: shown to callers in the 429 body. */
export type LimitScope = 'organisation' | 'key' | 'person' | 'ip' | 'model';

/**
 * A budget of `limit` units that refills evenly over `windowMs`. A subject that has been quiet for a whole
 * window may spend the full `limit` at once.
 */
export interface RatePolicy {
  /** Stable and public: it appears in `RateLimit-Policy` and in the 429 body. Lowercase letters, digits, `-`. */
  readonly name: string;
  readonly scope: LimitScope;
  /** What is counted: an organisation id, a key id, an address block. Never a secret. */
  readonly subject: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Units this call takes from this policy; 1 unless said. Zero peeks. */
  readonly cost?: number;
}

/** One policy after the call. */
export interface PolicyState {
  readonly policy: RatePolicy;
  readonly limit: number;
  /** Whole units still free, after this call consumed (or, refused, did not consume) its cost. */
  readonly remaining: number;
  /** Until the budget is whole again. */
  readonly resetMs: number;
  /** Until the asked cost would pass; 0 when it did pass. */
  readonly retryAfterMs: number;
}

export interface RateDecision {
  readonly allowed: boolean;
  /** True when Valkey could not be asked: the call was let through uncounted. */
  readonly degraded: boolean;
  /** In the order the policies were given. */
  readonly policies: readonly PolicyState[];
  /** The policy that refused for longest; null when allowed. */
  readonly refusedBy: PolicyState | null;
}

export interface RateRequest {
  /**
   * Becomes the hash tag of every key of the call, so that one script call touches one cluster slot: the
   * organisation id, or the address block of an anonymous caller.
   */
  readonly tag: string;
  readonly policies: readonly RatePolicy[];
}

export interface Limiter {
  /** Peeks at every policy and consumes from all of them only if all of them allow it. Throws only for a policy that makes no sense. */
  consume(request: RateRequest): Promise<RateDecision>;
  /** The same numbers without consuming. */
  peek(request: RateRequest): Promise<RateDecision>;
}

/** One that also takes back what was counted too high. */
export interface RefundingLimiter extends Limiter {
  /** Takes back from each policy what its cost says. What cannot be given back now refills by itself. */
  giveBack(request: RateRequest): Promise<void>;
}
