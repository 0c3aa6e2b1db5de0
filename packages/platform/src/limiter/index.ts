export { createLimiter } from './limiter.ts';
export type { LimiterOptions } from './limiter.ts';
export type { Limiter, LimitScope, PolicyState, RateDecision, RatePolicy, RateRequest } from './types.ts';
