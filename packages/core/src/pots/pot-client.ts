import type { Timer } from '@millrace/platform/clock';
import { createLimiter, uncountedDecision } from '@millrace/platform/limiter';
import { createItemRunner } from '@millrace/platform/loops';
import { createHeldLease, type HeldLease, type HeldLeaseOptions } from './held-lease.ts';
import { tendLeases } from './loops.ts';
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
/** Leases whose worker does not answer are tended beside the next round of the others. */
const tendPatienceMs = 1_000;
/** How often Valkey is asked whether it still has a pot. */
const betweenLossChecksMs = 5_000;

interface Purse {
  readonly held: HeldLease;
  readonly settling: Settling;
  readonly endLost: () => Promise<void>;
}

/**
 * Ends a lease whose pot Valkey has lost: no request can spend from it, and its hold keeps the money from all other uses.
 * A request notices the loss by itself, but an idle gateway has no requests.
 */
function createLossCheck(
  name: PotName,
  held: HeldLease,
  { clock, complain }: { readonly clock: Timer; readonly complain: (error: unknown) => void },
): Purse['endLost'] {
  let checkAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const holding = held.current();
    const nowMs = clock.monotonicMs();
    if (holding === null || nowMs < checkAtMs) return;
    checkAtMs = nowMs + betweenLossChecksMs;
    const { epoch } = holding.lease;
    try {
      if (!(await holding.pots.hasForgotten(name, epoch))) return;
    } catch (error) {
      // If Valkey does not answer, it may still have the pot.
      complain(error);
      return;
    }
    // Meanwhile a request may have noticed the loss and borrowed another lease.
    if (held.current()?.lease.epoch !== epoch) return;
    held.drop();
    await held.epochs.report();
  };
}

export function createPotClient(options: PotClientOptions): PotClient {
  const { log, clock } = options;
  const purses = new Map<string, Purse>();
  const limiter = createLimiter({ valkey: options.valkey, log, clock });
  const testPurse = createTestPurse({ limiter, clock, gatewayId: options.gatewayId });
  const runner = createItemRunner(tendLeases, { clock, log });
  let lives = 0;

  function purseOf({ orgId, mode }: PotName): Purse {
    const key = `${orgId} ${mode}`;
    const found = purses.get(key);
    if (found !== undefined) return found;
    const name = { orgId, mode };
    const held = createHeldLease(options, name, () => `${options.gatewayId}.${(lives += 1)}`);
    const settling = createSettling(name, held, options);
    const made = { held, settling, endLost: createLossCheck(name, held, { clock, complain }) };
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
      await runner.run([...purses], {
        key: ([key]) => key,
        work: async ([key, { held, endLost }]) => {
          // Before the question to Valkey, so that a slow Valkey does not keep a lease from being prolonged.
          await held.tend();
          await endLost();
          // Asked at the instant of forgetting: a request may have come while the ends were reported.
          if (held.isDone()) purses.delete(key);
        },
        patienceMs: tendPatienceMs,
      });
    },

    async close() {
      await Promise.all([...purses.values()].map(({ held }) => held.close()));
    },
  };
}
