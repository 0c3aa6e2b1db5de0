import type { Timer } from '@millrace/platform/clock';
import type { RefundingLimiter } from '@millrace/platform/limiter';
import type { ReserveRejection, Reservation, ReserveRequest } from './client-types.ts';
import { costsFor, limitSetOf, unusedTokens, withCosts } from '../protocol/request-limits.ts';

/** Test mode is free, so only rate limits are counted. If Valkey is unreachable, test requests are admitted. */
export function createTestModeReserver(limiter: RefundingLimiter, clock: Timer, gatewayId: string) {
  return {
    async reserve(request: ReserveRequest): Promise<Reservation | ReserveRejection> {
      const { orgId, mode, requestId, budgets, limits, tokens } = request;
      const set = limitSetOf(orgId, limits);
      const reservedAtMs = clock.monotonicMs();
      const rate = await limiter.consume({ tag: orgId, policies: withCosts(set, costsFor(set, tokens)) });
      if (!rate.allowed) return { refused: 'RATE_LIMITED', rate };
      return {
        ...{ orgId, mode, requestId, amount: 0n, budgets, limits, tokens },
        ...{ leaseId: null, epoch: 0n, gatewayId, reservedAtMs, rate },
      };
    },
    async settle({ orgId, limits, tokens: counted, reservedAtMs }: Reservation, used: number): Promise<void> {
      const sinceMs = clock.monotonicMs() - reservedAtMs;
      const back = limits.filter(({ counts }) => counts === 'tokens');
      const unused = { counted, used, sinceMs };
      const policies = back.map((limit) => ({ ...limit, cost: unusedTokens(limit, unused) }));
      await limiter.giveBack({ tag: orgId, policies: policies.filter(({ cost }) => cost > 0) });
    },
  };
}
