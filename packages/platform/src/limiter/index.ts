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
// For scripts that count rate limits together with other work.
export {
  costsOf,
  isExactlyRepresentable,
  limitKey,
  limitKeys,
  toDecision,
  uncountedDecision,
} from './decision.ts';
export { limitFunctions, limiterGrant } from './script.ts';
// A model of the script for tests.
export { createReferenceLimiter } from './reference-limiter.ts';
