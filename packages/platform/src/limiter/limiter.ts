import { systemClock } from '../clock/index.ts';
import type { Clock } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import { counter } from '../telemetry/index.ts';
import type { ValkeyClient } from '../valkey/index.ts';
import { checkPolicies, toDecision, uncountedDecision } from './decision.ts';
import type { CheckedPolicy } from './decision.ts';
import { limiterScript } from './script.ts';
import type { Limiter, RateDecision, RateRequest } from './types.ts';

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

/** The script answers whole numbers and nothing else. */
function readAnswer(answer: unknown): readonly number[] {
  if (Array.isArray(answer) && answer.every((value) => typeof value === 'number')) return answer;
  throw new TypeError('The limiter script answered something else than numbers.');
}

/**
 * Counts in Valkey. When Valkey cannot be asked, calls pass uncounted: a limiter that is down must not take
 * the API with it. Whoever must not fail open (money does not) checks `degraded`.
 */
export function createLimiter(options: LimiterOptions): Limiter {
  const { valkey, log, clock = systemClock } = options;
  let silentUntilMs = Number.NEGATIVE_INFINITY;

  async function decide(request: RateRequest, consume: boolean): Promise<RateDecision> {
    const policies = checkPolicies(request.policies);
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
      const [passed, ...used] = readAnswer(answer);
      const decision = toDecision(passed === 1, policies, used);
      if (consume && decision.refusedBy !== null) refused.add(1, { policy: decision.refusedBy.policy.name });
      return decision;
    } catch (error) {
      uncounted.add(1);
      if (clock.monotonicMs() >= silentUntilMs) {
        silentUntilMs = clock.monotonicMs() + complaintEveryMs;
        log.warn({ err: error }, 'rate limits are not counted: Valkey did not answer');
      }
      return uncountedDecision(policies);
    }
  }

  return {
    consume: (request) => decide(request, true),
    peek: (request) => decide(request, false),
  };
}

/** The window is part of the key: what was counted over a minute says nothing about a day. */
function keyOf(tag: string, policy: CheckedPolicy): string {
  return `limit:{${tag}}:${policy.name}:${policy.windowMs}:${policy.subject}`;
}
