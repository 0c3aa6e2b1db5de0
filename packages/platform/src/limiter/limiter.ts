import { systemClock } from '../clock/index.ts';
import type { Timer } from '../clock/index.ts';
import type { Logger } from '../log/index.ts';
import { counter } from '../telemetry/index.ts';
import type { ValkeyClient } from '../valkey/index.ts';
import { costsOf, limitKey, toDecision, uncountedDecision } from './decision.ts';
import { limiterScript } from './script.ts';
import type { RefundingLimiter, RateDecision, RateRequest } from './types.ts';

export interface LimiterOptions {
  readonly valkey: Pick<ValkeyClient, 'run'>;
  readonly log: Pick<Logger, 'warn'>;
  readonly clock?: Timer;
  /** Replaces the server's time in milliseconds, for tests only. */
  readonly nowMs?: () => number;
  /** The maximum wait for Valkey before a request is admitted uncounted. */
  readonly timeoutMs?: number;
}

const uncountedCounter = counter('millrace_limiter_uncounted_total');
const rejectedCounter = counter('millrace_limiter_refused_total');

const defaultTimeoutMs = 250;
/** The interval of warnings while Valkey is unavailable. */
const warnEveryMs = 30_000;

function parseScriptResult(response: unknown): readonly number[] {
  if (Array.isArray(response) && response.every((value) => typeof value === 'number')) return response;
  throw new TypeError('The limiter script returned a value that is not a list of numbers.');
}

/** Counts in Valkey. Without it calls pass uncounted; callers that must fail closed check `degraded`. */
export function createLimiter(options: LimiterOptions): RefundingLimiter {
  const { valkey, log, clock = systemClock } = options;
  let silentUntilMs = Number.NEGATIVE_INFINITY;

  async function run({ tag, policies }: RateRequest, costs: readonly number[], consume: boolean) {
    const response = await valkey.run(limiterScript, {
      keys: policies.map((policy) => limitKey(tag, policy)),
      args: [
        options.nowMs === undefined ? '' : String(options.nowMs()),
        consume ? '1' : '0',
        ...policies.flatMap(({ limit, windowMs }, index) => [limit, windowMs, costs[index] ?? 0].map(String)),
      ],
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    });
    const [passed, ...used] = parseScriptResult(response);
    return { passed: passed === 1, used };
  }

  function warn(error: unknown): void {
    uncountedCounter.add(1);
    if (clock.monotonicMs() < silentUntilMs) return;
    silentUntilMs = clock.monotonicMs() + warnEveryMs;
    log.warn({ err: error }, 'rate limits are not counted: Valkey did not respond');
  }

  async function decide(request: RateRequest, consume: boolean): Promise<RateDecision> {
    const { policies } = request;
    const costs = costsOf(policies);
    if (policies.length === 0) return { allowed: true, degraded: false, policies: [], refusedBy: null };
    try {
      const { passed, used } = await run(request, costs, consume);
      const decision = toDecision(passed, policies, costs, used);
      if (consume && decision.refusedBy !== null)
        rejectedCounter.add(1, { policy: decision.refusedBy.policy.name });
      return decision;
    } catch (error) {
      warn(error);
      return uncountedDecision(policies);
    }
  }

  return {
    consume: (request) => decide(request, true),
    peek: (request) => decide(request, false),
    async giveBack(request) {
      const costs = costsOf(request.policies).map((cost) => -cost);
      if (costs.length > 0) await run(request, costs, true).catch(warn);
    },
  };
}
