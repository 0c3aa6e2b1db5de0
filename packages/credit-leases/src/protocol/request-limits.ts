import type { OrgId } from '@millrace/platform/ids';
import { costsOf, isExactlyRepresentable, limitKey, type RatePolicy } from '@millrace/platform/limiter';
import { floorDivide } from '@millrace/platform/money';

/** The rate limits of an inference request, counted in the same Valkey call as its reservation. */

/** A request costs one of a `requests` limit, and its maximum number of tokens of a `tokens` limit. */
export interface RequestLimit extends Omit<RatePolicy, 'cost'> {
  readonly counts: 'requests' | 'tokens';
}

/** Validated limits, with the arguments that are the same for every request. */
export interface LimitSet {
  readonly orgId: OrgId;
  readonly limits: readonly RequestLimit[];
  readonly keys: readonly string[];
  /** Size and window of each limit, as script arguments. */
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

/** Checks each list once, also if it is passed repeatedly. */
export function limitSetOf(orgId: OrgId, limits: readonly RequestLimit[]): LimitSet {
  const found = limitSets.get(limits);
  // An empty list can be the same object for two organisations.
  if (found !== undefined && found.orgId === orgId) return found;
  const made = checkLimits(orgId, limits);
  limitSets.set(limits, made);
  return made;
}

export function costsFor({ limits }: LimitSet, tokens: number): number[] {
  return limits.map((limit) => {
    const cost = limit.counts === 'tokens' ? tokens : 1;
    if (!isExactlyRepresentable(limit, cost)) throw new RangeError(`Invalid number of tokens: ${tokens}`);
    return cost;
  });
}

/** For the plain limiter, which has the cost in each policy. */
export function withCosts({ limits }: LimitSet, costs: readonly number[]): RatePolicy[] {
  return limits.map((limit, index) => ({ ...limit, cost: costs[index] ?? 0 }));
}

/** Appends size, window and cost of each limit to the script arguments. */
export function appendLimitArguments(args: string[], set: LimitSet, costs: readonly number[]): void {
  for (let index = 0; index < costs.length; index += 1) {
    args.push(set.sizes[index] ?? '', set.windows[index] ?? '', String(costs[index]));
  }
}

/** The refund of a token limit. The limit has refilled since the count, so the refilled part of the unused tokens is not refunded. */
export function unusedTokens(
  { limit, windowMs }: RequestLimit,
  { counted, used, sinceMs }: { readonly counted: number; readonly used: number; readonly sinceMs: number },
): number {
  const refilled = floorDivide(Math.max(0, Math.ceil(sinceMs)) * limit, windowMs);
  return Math.max(0, counted - refilled) - Math.max(0, Math.min(used, counted) - refilled);
}
