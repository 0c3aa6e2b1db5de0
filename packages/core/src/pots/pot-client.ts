import { createLimiter, uncountedDecision } from '@millrace/platform/limiter';
import { createHeldLease, type HeldLease, type HeldLeaseOptions } from './held-lease.ts';
import { mostPerLease, turnAway } from './pot.ts';
import type { PotName } from './pot-valkey.ts';
import type { PotClient } from './purse.ts';
import { costsFor, withCosts } from './request-limits.ts';
import { checkAsk, requireAmount, reserveFrom, type Counter } from './reserving.ts';
import { createSettling, type Settling } from './settling.ts';
import { createTestPurse } from './test-purse.ts';

export interface PotClientOptions extends HeldLeaseOptions {
  /** Of this run of this process, and never used again: a host's name and something random. */
  readonly gatewayId: string;
}

/** While Valkey stays away it is said once in this time, not once for every request. */
const complaintEveryMs = 1_000;

interface Purse {
  readonly held: HeldLease;
  readonly settling: Settling;
}

export function createPotClient(options: PotClientOptions): PotClient {
  const { log, clock } = options;
  const purses = new Map<string, Purse>();
  const limiter = createLimiter({ valkey: options.valkey, log, clock });
  const testPurse = createTestPurse({ limiter, clock, gatewayId: options.gatewayId });
  let lives = 0;

  function purseOf({ orgId, mode }: PotName): Purse {
    const key = `${orgId} ${mode}`;
    const found = purses.get(key);
    if (found !== undefined) return found;
    const name = { orgId, mode };
    const held = createHeldLease(options, name, () => `${options.gatewayId}.${(lives += 1)}`);
    const made = { held, settling: createSettling(name, held, options) };
    purses.set(key, made);
    return made;
  }

  let silentUntilMs = Number.NEGATIVE_INFINITY;
  function complain(error: unknown): void {
    const nowMs = clock.monotonicMs();
    if (nowMs < silentUntilMs) return;
    silentUntilMs = nowMs + complaintEveryMs;
    log.warn({ err: error }, 'the pot Valkey could not be asked');
  }

  const counter: Counter = {
    clock,
    peek: ({ orgId, set, costs }) => limiter.peek({ tag: orgId, policies: withCosts(set, costs) }),
    count: ({ orgId, set }) => limiter.consume({ tag: orgId, policies: withCosts(set, costsFor(set, 0)) }),
  };

  return {
    async reserve(request) {
      const ask = checkAsk(request);
      if (ask.mode === 'test') return testPurse.reserve(ask);
      if (ask.least > mostPerLease)
        return { refused: 'INSUFFICIENT_BALANCE', rate: await counter.count(ask) };
      const { held } = purseOf(ask);
      held.wait(ask);
      try {
        return await reserveFrom(held, ask, counter);
      } catch (error) {
        complain(error);
        return { refused: turnAway(null), rate: uncountedDecision(ask.set.limits) };
      } finally {
        held.stopWaiting(ask);
      }
    },

    async settle(reservation, actual, tokens = reservation.tokens) {
      requireAmount(actual, mostPerLease);
      if (reservation.leaseId === null) return testPurse.settle(reservation, tokens);
      const most = actual < reservation.amount ? actual : reservation.amount;
      return purseOf(reservation).settling.settle(reservation, most, tokens);
    },

    async tend() {
      await Promise.all(
        [...purses].map(async ([key, { held }]) => {
          await held.tend();
          // Asked at the instant of forgetting: a request may have come while the ends were reported.
          if (held.isDone()) purses.delete(key);
        }),
      );
    },

    async close() {
      await Promise.all([...purses.values()].map(({ held }) => held.close()));
    },
  };
}
