import { floorDivide } from '../money/index.ts';
import type { PolicyState, RateDecision, RatePolicy } from './types.ts';

/**
 * The arithmetic of rate policies. A budget of `limit` units refills evenly over `windowMs`. The used units are stored
 * multiplied by `windowMs`, so that each millisecond refunds exactly `limit` without rounding, for requests per day as
 * for tokens per minute.
 */

const nameShape = /^[a-z0-9-]{1,40}$/;

/** Whether all sums of a policy are integers that JavaScript and Lua represent exactly. */
export function isExactlyRepresentable({ limit, windowMs }: RatePolicy, cost: number): boolean {
  return Number.isSafeInteger(cost) && cost >= 0 && Number.isSafeInteger((limit + cost) * windowMs);
}

/** Throws if the policy is invalid, because policies come from our code, not from callers. */
function costOf(policy: RatePolicy): number {
  const { limit, windowMs, cost = 1 } = policy;
  const whole = Number.isSafeInteger(limit) && Number.isSafeInteger(windowMs);
  const sane = limit >= 1 && windowMs >= 1 && isExactlyRepresentable(policy, cost);
  if (!whole || !sane || !nameShape.test(policy.name)) {
    throw new RangeError(`Not a rate policy: ${policy.name}, ${limit} in ${windowMs} ms, cost ${cost}.`);
  }
  return cost;
}

/** Returns the costs of the policies of one call. A duplicate policy would be counted only once, so it throws. */
export function costsOf(policies: readonly RatePolicy[]): readonly number[] {
  const names = new Set(policies.map(({ name, subject, windowMs }) => `${name} ${windowMs} ${subject}`));
  if (names.size !== policies.length) throw new RangeError('A rate policy is listed twice in one call.');
  return policies.map(costOf);
}

/** The pattern of all keys. */
export const limitKeys = 'limit:*';

/** The window is part of the key, because usage of a minute is not comparable with usage of a day. */
export function limitKey(tag: string, policy: RatePolicy): string {
  return `limit:{${tag}}:${policy.name}:${policy.windowMs}:${policy.subject}`;
}

/** Builds the decision from the used units (times the window) of each policy after the call. */
export function toDecision(
  passed: boolean,
  policies: readonly RatePolicy[],
  costs: readonly number[],
  used: readonly number[],
): RateDecision {
  if (used.length !== policies.length)
    throw new Error('The limiter returned a different number of policies than requested.');
  const states = policies.map((policy, index) =>
    toState(policy, costs[index] ?? 0, used[index] ?? 0, passed),
  );
  if (passed) return { allowed: true, degraded: false, policies: states, refusedBy: null };
  const refusedBy = states.reduce((worst, state) =>
    state.retryAfterMs > worst.retryAfterMs ? state : worst,
  );
  return { allowed: false, degraded: false, policies: states, refusedBy };
}

function toState(policy: RatePolicy, cost: number, used: number, passed: boolean): PolicyState {
  const { limit, windowMs } = policy;
  const over = used + cost * windowMs - limit * windowMs;
  return {
    policy,
    limit,
    remaining: Math.max(0, limit - floorDivide(used, windowMs)),
    resetMs: floorDivide(used, limit),
    retryAfterMs: passed || over <= 0 ? 0 : floorDivide(over, limit),
  };
}

/** The decision if nothing could be counted: every budget is full. */
export function uncountedDecision(policies: readonly RatePolicy[]): RateDecision {
  const states = policies.map((policy) => toState(policy, 0, 0, true));
  return { allowed: true, degraded: true, policies: states, refusedBy: null };
}
