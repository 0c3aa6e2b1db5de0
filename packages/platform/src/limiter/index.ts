export { createLimiter } from './limiter.ts';
export type { LimiterOptions } from './limiter.ts';
export type {
  RefundingLimiter,
  Limiter,
  LimitScope,
  PolicyState,
  RateDecision,
  RatePolicy,
  RateRequest,
} from './types.ts';
// For scripts that count limits along with something else.
export { costsOf, isExactlyRepresentable, limitKey, toDecision, uncountedDecision } from './decision.ts';
export { limitFunctions } from './script.ts';
// The same as plain code, to hold scripts against.
export { createReferenceLimiter } from './reference-limiter.ts';
