import type { OrgId } from '@millrace/platform/ids';
import { costsOf, isExactlyRepresentable, limitKey, type RatePolicy } from '@millrace/platform/limiter';
import { floorDivide } from '@millrace/platform/money';

/** The rate limits of a request to a model, which are counted in the same call as its money. */

/** Costs one of what counts `requests`, and the most that the request may use of what counts `tokens`. */
export interface RequestLimit extends Omit<RatePolicy, 'cost'> {
  readonly counts: 'requests' | 'tokens';
}

/** Limits that make sense, with what is the same for every request that counts against them. */
export interface LimitSet {
  readonly orgId: OrgId;
  readonly limits: readonly RequestLimit[];
  readonly keys: readonly string[];
  /** Of each limit: its size and its window, as scripts take them. */
  readonly sizes: readonly string[];
  readonly windows: readonly string[];
  readonly countsTokens: boolean;
}

function checkLimits(orgId: OrgId, limits: readonly RequestLimit[]): LimitSet {
  costsOf(limits);
  return {
    orgId,
    limits,
    keys: limits.map((limit) => limitKey(orgId, limit)),
    sizes: limits.map(({ limit }) => String(limit)),
    windows: limits.map(({ windowMs }) => String(windowMs)),
    countsTokens: limits.some(({ counts }) => counts === 'tokens'),
  };
}

const limitSets = new WeakMap<readonly RequestLimit[], LimitSet>();

/** Checks a list once, however often it is handed in. */
export function limitSetOf(orgId: OrgId, limits: readonly RequestLimit[]): LimitSet {
  const found = limitSets.get(limits);
  // The list of limits of two organisations may be the same one when it is empty.
  if (found !== undefined && found.orgId === orgId) return found;
  const made = checkLimits(orgId, limits);
  limitSets.set(limits, made);
  return made;
}

/** What a request costs of each limit. */
export function costsFor({ limits }: LimitSet, tokens: number): number[] {
  return limits.map((limit) => {
    const cost = limit.counts === 'tokens' ? tokens : 1;
    if (!isExactlyRepresentable(limit, cost))
      throw new RangeError(`Not a number of tokens of a request: ${tokens}.`);
    return cost;
  });
}

/** For the plain limiter, which has the cost in each policy. */
export function withCosts({ limits }: LimitSet, costs: readonly number[]): RatePolicy[] {
  return limits.map((limit, index) => ({ ...limit, cost: costs[index] ?? 0 }));
}

/** Size, window and cost of each limit, behind the other arguments of a script. */
export function appendLimitArguments(args: string[], set: LimitSet, costs: readonly number[]): void {
  for (let index = 0; index < costs.length; index += 1) {
    args.push(set.sizes[index] ?? '', set.windows[index] ?? '', String(costs[index]));
  }
}

/**
 * What to give back of a limit on tokens, when fewer were used than had been counted some time ago. Since then the limit
 * has refilled; what it had refilled of the unused part is not given back a second time.
 */
export function unusedTokens(
  { limit, windowMs }: RequestLimit,
  { counted, used, sinceMs }: { readonly counted: number; readonly used: number; readonly sinceMs: number },
): number {
  const refilled = floorDivide(Math.max(0, Math.ceil(sinceMs)) * limit, windowMs);
  return Math.max(0, counted - refilled) - Math.max(0, Math.min(used, counted) - refilled);
}
