import { costsOf, toDecision } from './decision.ts';
import type { RefundingLimiter, RateDecision, RatePolicy, RateRequest } from './types.ts';

interface Bucket {
  /** Used units, times the window. */
  readonly used: number;
  readonly atMs: number;
}

/** The limiter in memory: the model of the script in a property test, and the limiter of other tests. */
export function createReferenceLimiter(options: { readonly nowMs: () => number }): RefundingLimiter {
  const buckets = new Map<string, Bucket>();

  function decide(request: RateRequest, costs: readonly number[], consume: boolean): RateDecision {
    const nowMs = options.nowMs();
    const { policies } = request;
    const names = policies.map(({ name, windowMs, subject }) =>
      [request.tag, name, windowMs, subject].join('\n'),
    );
    const costAt = (index: number): number => costs[index] ?? 0;
    const settled = policies.map((policy, index) => {
      const name = names[index] ?? '';
      const before = buckets.get(name);
      const now = refillBucket(before, policy, nowMs);
      if (before !== undefined && before.atMs > nowMs) buckets.set(name, now);
      return now;
    });
    const passed = policies.every((policy, index) => fits(settled[index]?.used ?? 0, policy, costAt(index)));
    const after = policies.map((policy, index): Bucket => {
      const { used, atMs } = settled[index] ?? { used: 0, atMs: nowMs };
      const counted = Math.max(0, used + costAt(index) * policy.windowMs);
      return { used: passed && consume ? counted : used, atMs };
    });
    if (passed && consume) {
      for (const [index, bucket] of after.entries()) {
        if (costAt(index) !== 0) buckets.set(names[index] ?? '', bucket);
      }
    }
    const used = after.map((bucket) => bucket.used);
    return toDecision(passed, policies, costs, used);
  }

  return {
    consume: (request) => Promise.resolve(decide(request, costsOf(request.policies), true)),
    peek: (request) => Promise.resolve(decide(request, costsOf(request.policies), false)),
    giveBack(request) {
      const costs = costsOf(request.policies).map((cost) => -cost);
      decide(request, costs, true);
      return Promise.resolve();
    },
  };
}

/** The used units by now. If the clock stepped back, the budget neither changes nor stops refilling from then on. */
function refillBucket(bucket: Bucket | undefined, policy: RatePolicy, nowMs: number): Bucket {
  if (bucket === undefined) return { used: 0, atMs: nowMs };
  const elapsedMs = Math.max(0, nowMs - bucket.atMs);
  return { used: Math.max(0, bucket.used - elapsedMs * policy.limit), atMs: nowMs };
}

function fits(used: number, { limit, windowMs }: RatePolicy, cost: number): boolean {
  return used + cost * windowMs <= limit * windowMs;
}
