import { checkPolicies, toDecision } from './decision.ts';
import type { CheckedPolicy } from './decision.ts';
import type { Limiter, RateDecision, RateRequest } from './types.ts';

interface Bucket {
  /** Units used, times the window. */
  readonly used: number;
  readonly atMs: number;
}

/**
 * The limiter as plain code, in memory and without Valkey. It says what the script must do: a property test
 * holds the two together, and tests of other parts count with it.
 */
export function createModelLimiter(options: { readonly nowMs: () => number }): Limiter {
  const buckets = new Map<string, Bucket>();

  function decide(request: RateRequest, consume: boolean): RateDecision {
    const nowMs = options.nowMs();
    const policies = checkPolicies(request.policies);
    const names = policies.map(({ name, windowMs, subject }) =>
      [request.tag, name, windowMs, subject].join('\n'),
    );
    const settled = policies.map((policy, index) => settle(buckets.get(names[index] ?? ''), policy, nowMs));
    const passed = policies.every((policy, index) => fits(settled[index]?.used ?? 0, policy));
    const after = policies.map((policy, index): Bucket => {
      const { used, atMs } = settled[index] ?? { used: 0, atMs: nowMs };
      return { used: passed && consume ? used + policy.cost * policy.windowMs : used, atMs };
    });
    if (passed && consume) {
      for (const [index, bucket] of after.entries()) {
        if ((policies[index]?.cost ?? 0) > 0) buckets.set(names[index] ?? '', bucket);
      }
    }
    const used = after.map((bucket) => bucket.used);
    return toDecision(passed, policies, used);
  }

  return {
    consume: (request) => Promise.resolve(decide(request, true)),
    peek: (request) => Promise.resolve(decide(request, false)),
  };
}

/** What is used by now. A clock that stepped back gives nothing back and takes nothing. */
function settle(bucket: Bucket | undefined, policy: CheckedPolicy, nowMs: number): Bucket {
  if (bucket === undefined) return { used: 0, atMs: nowMs };
  const elapsedMs = Math.max(0, nowMs - bucket.atMs);
  return { used: Math.max(0, bucket.used - elapsedMs * policy.limit), atMs: Math.max(nowMs, bucket.atMs) };
}

function fits(used: number, { limit, windowMs, cost }: CheckedPolicy): boolean {
  return used + cost * windowMs <= limit * windowMs;
}
