export { createLimiter } from './limiter.ts';
export type { LimiterOptions } from './limiter.ts';
export type {
  GivingLimiter,
  Limiter,
  LimitScope,
  PolicyState,
  RateDecision,
  RatePolicy,
  RateRequest,
} from './types.ts';
// For scripts that count limits along with something else.
export { costsOf, fitsExactly, limitKey, toDecision, uncountedDecision } from './decision.ts';
export { limitFunctions } from './script.ts';
// The same as plain code, to hold scripts against.
export { createModelLimiter } from './model.ts';
