import { groupsOf } from '../money/index.ts';
import type { PolicyState, RateDecision, RatePolicy } from './types.ts';

/**
 * The arithmetic of a policy. A budget of `limit` units refills evenly over `windowMs`. What is used of it is
 * kept multiplied by `windowMs`, so that each millisecond gives back exactly `limit` and nothing is ever
 * rounded on the way: requests a day and tokens a minute come out equally exact.
 */
export type CheckedPolicy = RatePolicy & { readonly cost: number };

/** A policy whose sums stay whole numbers that both sides keep exactly, or an error: policies are ours, not a caller's. */
function checkPolicy(policy: RatePolicy): CheckedPolicy {
  const { limit, windowMs, cost = 1 } = policy;
  const whole = [limit, windowMs, cost].every((value) => Number.isSafeInteger(value));
  const sane = limit >= 1 && windowMs >= 1 && cost >= 0 && Number.isSafeInteger((limit + cost) * windowMs);
  if (!whole || !sane || !/^[a-z0-9-]{1,40}$/.test(policy.name)) {
    throw new RangeError(`Not a rate policy: ${policy.name}, ${limit} in ${windowMs} ms, cost ${cost}.`);
  }
  return { ...policy, cost };
}

/** The policies of one call. Each must count something of its own: the same one twice would count half. */
export function checkPolicies(policies: readonly RatePolicy[]): readonly CheckedPolicy[] {
  const names = new Set(policies.map(({ name, subject, windowMs }) => `${name} ${windowMs} ${subject}`));
  if (names.size !== policies.length) throw new RangeError('A rate policy is listed twice in one call.');
  return policies.map(checkPolicy);
}

/** The answer for the caller, from what each policy has used (times its window) after the call. */
export function toDecision(
  passed: boolean,
  policies: readonly CheckedPolicy[],
  used: readonly number[],
): RateDecision {
  if (used.length !== policies.length)
    throw new Error('The limiter answered for other policies than it was asked.');
  const states = policies.map((policy, index) => toState(policy, used[index] ?? 0, passed));
  if (passed) return { allowed: true, degraded: false, policies: states, refusedBy: null };
  const refusedBy = states.reduce((worst, state) =>
    state.retryAfterMs > worst.retryAfterMs ? state : worst,
  );
  return { allowed: false, degraded: false, policies: states, refusedBy };
}

function toState(policy: CheckedPolicy, used: number, passed: boolean): PolicyState {
  const { limit, windowMs, cost } = policy;
  const over = used + cost * windowMs - limit * windowMs;
  return {
    policy,
    limit,
    remaining: Math.max(0, limit - groupsOf(used, windowMs)),
    resetMs: groupsOf(used, limit),
    retryAfterMs: passed || over <= 0 ? 0 : groupsOf(over, limit),
  };
}

/** What is said when nothing could be counted: every budget whole. */
export function uncountedDecision(policies: readonly CheckedPolicy[]): RateDecision {
  const states = policies.map((policy) => toState(policy, 0, true));
  return { allowed: true, degraded: true, policies: states, refusedBy: null };
}
