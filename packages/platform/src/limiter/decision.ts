import { floorDivide } from '../money/index.ts';
import type { PolicyState, RateDecision, RatePolicy } from './types.ts';

/**
 * The arithmetic of a policy. A budget of `limit` units refills evenly over `windowMs`. What is used of it is
 * kept multiplied by `windowMs`, so that each millisecond gives back exactly `limit` and nothing is ever
 * rounded on the way: requests a day and tokens a minute come out equally exact.
 */

const nameShape = /^[a-z0-9-]{1,40}$/;

/** Whether the sums of a policy stay whole numbers that both sides keep exactly. */
export function isExactlyRepresentable({ limit, windowMs }: RatePolicy, cost: number): boolean {
  return Number.isSafeInteger(cost) && cost >= 0 && Number.isSafeInteger((limit + cost) * windowMs);
}

/** Answers the cost of a policy that makes sense, or throws: policies are ours, not a caller's. */
function costOf(policy: RatePolicy): number {
  const { limit, windowMs, cost = 1 } = policy;
  const whole = Number.isSafeInteger(limit) && Number.isSafeInteger(windowMs);
  const sane = limit >= 1 && windowMs >= 1 && isExactlyRepresentable(policy, cost);
  if (!whole || !sane || !nameShape.test(policy.name)) {
    throw new RangeError(`Not a rate policy: ${policy.name}, ${limit} in ${windowMs} ms, cost ${cost}.`);
  }
  return cost;
}

/** The costs of the policies of one call. Each must count something of its own: the same one twice would count half. */
export function costsOf(policies: readonly RatePolicy[]): readonly number[] {
  const names = new Set(policies.map(({ name, subject, windowMs }) => `${name} ${windowMs} ${subject}`));
  if (names.size !== policies.length) throw new RangeError('A rate policy is listed twice in one call.');
  return policies.map(costOf);
}

/** The window is part of the key: what was counted over a minute says nothing about a day. */
export function limitKey(tag: string, policy: RatePolicy): string {
  return `limit:{${tag}}:${policy.name}:${policy.windowMs}:${policy.subject}`;
}

/** The answer for the caller, from what each policy has used (times its window) after the call. */
export function toDecision(
  passed: boolean,
  policies: readonly RatePolicy[],
  costs: readonly number[],
  used: readonly number[],
): RateDecision {
  if (used.length !== policies.length)
    throw new Error('The limiter answered for other policies than it was asked.');
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

/** What is said when nothing could be counted: every budget whole. */
export function uncountedDecision(policies: readonly RatePolicy[]): RateDecision {
  const states = policies.map((policy) => toState(policy, 0, 0, true));
  return { allowed: true, degraded: true, policies: states, refusedBy: null };
}
