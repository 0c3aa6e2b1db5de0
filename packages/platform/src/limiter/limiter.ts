import { z } from 'zod';
import { systemClock } from '../clock/index.ts';
import type { Clock } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import { groupsOf } from '../money/index.ts';
import { counter } from '../telemetry/index.ts';
import type { ValkeyClient } from '../valkey/index.ts';
import { maxBucketSpan } from './bucket.ts';
import { limiterScript } from './script.ts';
import type { Limiter, PolicyState, RateDecision, RatePolicy, RateRequest } from './types.ts';

export interface LimiterOptions {
  readonly valkey: Pick<ValkeyClient, 'run'>;
  readonly log: Logger;
  readonly clock?: Clock;
  /** Replaces the server's own time, in milliseconds: tests only. */
  readonly nowMs?: () => number;
  /** The longest a request waits for Valkey before it is let through uncounted. */
  readonly timeoutMs?: number;
}

const uncounted = counter(
  'millrace_limiter_uncounted_total',
  'Calls let through because Valkey did not answer.',
);
const refused = counter('millrace_limiter_refused_total', 'Calls refused, by the policy that refused them.');

const defaultTimeoutMs = 250;
/** While Valkey stays away it is said once in this time, not once for every request. */
const complaintEveryMs = 30_000;

const answerShape = z.array(z.coerce.number()).min(1);

/**
 * Counts in Valkey. When Valkey cannot be asked, calls pass uncounted: a limiter that is down must not take
 * the API with it. Whoever must not fail open (money does not) checks `degraded`.
 */
export function createLimiter(options: LimiterOptions): Limiter {
  const { valkey, log, clock = systemClock } = options;
  let silentUntilMs = Number.NEGATIVE_INFINITY;

  async function decide(request: RateRequest, consume: boolean): Promise<RateDecision> {
    const policies = request.policies.map(checkPolicy);
    if (policies.length === 0) return { allowed: true, degraded: false, policies: [], refusedBy: null };
    try {
      const answer = await valkey.run(limiterScript, {
        keys: policies.map((policy) => keyOf(request.tag, policy)),
        args: [
          options.nowMs === undefined ? '' : String(options.nowMs()),
          consume ? '1' : '0',
          ...policies.flatMap(({ limit, windowMs, cost }) => [limit, windowMs, cost].map(String)),
        ],
        timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
      });
      return readAnswer(answerShape.parse(answer), policies, consume);
    } catch (error) {
      uncounted.add(1);
      if (clock.monotonicMs() >= silentUntilMs) {
        silentUntilMs = clock.monotonicMs() + complaintEveryMs;
        log.warn({ err: error }, 'rate limits are not counted: Valkey did not answer');
      }
      return { allowed: true, degraded: true, policies: policies.map(untouched), refusedBy: null };
    }
  }

  return {
    consume: (request) => decide(request, true),
    peek: (request) => decide(request, false),
  };
}

type CheckedPolicy = RatePolicy & { readonly cost: number };

function checkPolicy(policy: RatePolicy): CheckedPolicy {
  const { limit, windowMs, cost = 1 } = policy;
  const whole = [limit, windowMs, cost].every((value) => Number.isSafeInteger(value));
  const sane = limit >= 1 && windowMs >= 1 && cost >= 0 && (limit + cost) * windowMs <= maxBucketSpan;
  if (!whole || !sane || !/^[a-z0-9-]{1,40}$/.test(policy.name)) {
    throw new RangeError(`Not a rate policy: ${policy.name}, ${limit} in ${windowMs} ms, cost ${cost}.`);
  }
  return { ...policy, cost };
}

/** The window is part of the key: what was counted over a minute says nothing about a day. */
function keyOf(tag: string, policy: CheckedPolicy): string {
  return `limit:{${tag}}:${policy.name}:${policy.windowMs}:${policy.subject}`;
}

function readAnswer(
  [passed, ...used]: readonly number[],
  policies: readonly CheckedPolicy[],
  consumed: boolean,
): RateDecision {
  if (used.length !== policies.length) throw new Error('The limiter script answered for other policies.');
  const allowed = passed === 1;
  const states = policies.map((policy, index) => toState(policy, used[index] ?? 0, allowed));
  if (allowed) return { allowed, degraded: false, policies: states, refusedBy: null };
  const refusedBy = states.reduce((worst, state) =>
    state.retryAfterMs > worst.retryAfterMs ? state : worst,
  );
  if (consumed) refused.add(1, { policy: refusedBy.policy.name });
  return { allowed, degraded: false, policies: states, refusedBy };
}

function toState(policy: CheckedPolicy, used: number, allowed: boolean): PolicyState {
  const { limit, windowMs, cost } = policy;
  const over = used + cost * windowMs - limit * windowMs;
  return {
    policy,
    limit,
    remaining: Math.max(0, limit - groupsOf(used, windowMs)),
    resetMs: groupsOf(used, limit),
    retryAfterMs: allowed || over <= 0 ? 0 : groupsOf(over, limit),
  };
}

function untouched(policy: CheckedPolicy): PolicyState {
  return { policy, limit: policy.limit, remaining: policy.limit, resetMs: 0, retryAfterMs: 0 };
}
