import { Fault } from '../../fault/index.ts';
import type { PolicyState, RateDecision } from '../../limiter/index.ts';
import { msToSecondsRoundUp, divideWithRemainder } from '../../money/index.ts';

/** The IETF draft headers with every policy, and `x-ratelimit-*` for inference clients with the tightest one. */
export function rateHeaders(decision: RateDecision): Record<string, string> {
  const tightest = decision.refusedBy ?? tightestPolicy(decision.policies);
  if (tightest === undefined) return {};
  return {
    'ratelimit-policy': decision.policies
      .map(({ policy, limit }) => `"${policy.name}";q=${limit};w=${msToSecondsRoundUp(policy.windowMs)}`)
      .join(', '),
    ratelimit: decision.policies
      .map(
        ({ policy, remaining, resetMs }) =>
          `"${policy.name}";r=${remaining};t=${msToSecondsRoundUp(resetMs)}`,
      )
      .join(', '),
    'x-ratelimit-limit-requests': String(tightest.limit),
    'x-ratelimit-remaining-requests': String(tightest.remaining),
    'x-ratelimit-reset-requests': durationText(tightest.resetMs),
  };
}

/** Formats a duration for inference clients, rounded up: `350ms`, `12s`, `6m0s`, `1h0m5s`. */
export function durationText(ms: number): string {
  if (ms > 0 && ms < 1_000) return `${Math.ceil(ms)}ms`;
  const [minutes, seconds] = divideWithRemainder(msToSecondsRoundUp(ms), 60);
  if (minutes === 0) return `${seconds}s`;
  const [hours, restMinutes] = divideWithRemainder(minutes, 60);
  return hours === 0 ? `${minutes}m${seconds}s` : `${hours}h${restMinutes}m${seconds}s`;
}

function tightestPolicy(policies: readonly PolicyState[]): PolicyState | undefined {
  return policies.toSorted((a, b) => a.remaining * b.limit - b.remaining * a.limit)[0];
}

/** The fault for an exceeded limit, with its name, its scope and the time of the next allowed request. */
export function rateLimitFault(refusedBy: PolicyState): Fault {
  const { policy, limit, remaining, resetMs, retryAfterMs } = refusedBy;
  const windowSeconds = msToSecondsRoundUp(policy.windowMs);
  const retryAfterSeconds = Math.max(1, msToSecondsRoundUp(retryAfterMs));
  return new Fault('RATE_LIMITED', {
    message: `Too many requests: ${scopeWords[policy.scope]} has a limit of ${limit} in ${windowSeconds} seconds (${policy.name}).`,
    suggestion: `Retry in ${retryAfterSeconds === 1 ? '1 second' : `${retryAfterSeconds} seconds`}. The RateLimit headers show what remains.`,
    retryAfterSeconds,
    extra: {
      limit: {
        name: policy.name,
        scope: policy.scope,
        limit,
        windowSeconds,
        remaining,
        resetSeconds: msToSecondsRoundUp(resetMs),
        retryAfterSeconds,
      },
    },
  });
}

const scopeWords = {
  organisation: 'your organisation',
  key: 'this API key',
  ip: 'your address',
  person: 'your account',
  model: 'this model',
} as const;
