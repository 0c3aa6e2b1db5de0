import type { Timer } from '@millrace/platform/clock';
import { createLimiter, uncountedDecision } from '@millrace/platform/limiter';
import { createItemRunner } from '@millrace/platform/loops';
import { HeldLease, type HeldLeaseOptions } from './held-lease.ts';
import { maintainLeases } from './loops.ts';
import { toAdmissionErrorReason } from './rejection-reasons.ts';
import { maxPerLease } from '../protocol/lease-scripts.ts';
import type { LeaseOwner } from '../protocol/valkey-leases.ts';
import type { CreditLeaseClient } from './client-types.ts';
import { costsFor, withCosts } from '../protocol/request-limits.ts';
import { checkReserveRequest, requireAmount, reserveFromLease, type LimitCounter } from './reserve.ts';
import { createSettlementBatcher, type SettlementBatcher } from './settlement-batcher.ts';
import { createTestModeReserver } from './test-mode-reserver.ts';

export interface CreditLeaseClientOptions extends HeldLeaseOptions {
  /** Identifies this run of the process and is never reused: host name and random suffix. */
  readonly gatewayId: string;
}

/** While Valkey is unreachable, log once per interval instead of once per request. */
const warningIntervalMs = 1_000;
/** A lease whose worker does not respond in this time is maintained beside the next round of the others. */
const maintenanceTimeoutMs = 1_000;
/** How often to check that Valkey still has a lease. */
const lossCheckIntervalMs = 5_000;

interface OwnerLease {
  readonly held: HeldLease;
  readonly settling: SettlementBatcher;
  readonly endLost: () => Promise<void>;
}

/**
 * Ends a lease that Valkey has lost, because its hold keeps the money from all other uses. A request detects the loss too,
 * but an idle gateway has no requests.
 */
function createLossCheck(
  name: LeaseOwner,
  held: HeldLease,
  clock: Timer,
  warnRarely: (error: unknown) => void,
): OwnerLease['endLost'] {
  let checkAtMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const holding = held.current();
    const nowMs = clock.monotonicMs();
    if (holding === null || nowMs < checkAtMs) return;
    checkAtMs = nowMs + lossCheckIntervalMs;
    const { epoch } = holding.lease;
    try {
      if (!(await holding.leases.isLost(name, epoch))) return;
    } catch (error) {
      // If Valkey does not respond, it may still have the lease.
      warnRarely(error);
      return;
    }
    // Meanwhile a request may have detected the loss and requested another lease.
    if (held.current()?.lease.epoch !== epoch) return;
    held.drop();
    await held.epochs.report();
  };
}

export function createCreditLeaseClient(options: CreditLeaseClientOptions): CreditLeaseClient {
  const { log, clock } = options;
  const ownerLeases = new Map<string, OwnerLease>();
  const limiter = createLimiter({ valkey: options.valkey, log, clock });
  const testReserver = createTestModeReserver(limiter, clock, options.gatewayId);
  const runner = createItemRunner(maintainLeases, { clock, log });
  let holderCount = 0;

  function ownerLeaseOf({ orgId, mode }: LeaseOwner): OwnerLease {
    const key = `${orgId} ${mode}`;
    const found = ownerLeases.get(key);
    if (found !== undefined) return found;
    const name = { orgId, mode };
    const held = new HeldLease(options, name, () => `${options.gatewayId}.${(holderCount += 1)}`);
    const settling = createSettlementBatcher(name, held, options);
    const made = { held, settling, endLost: createLossCheck(name, held, clock, warnRarely) };
    ownerLeases.set(key, made);
    return made;
  }

  let silentUntilMs = Number.NEGATIVE_INFINITY;
  function warnRarely(error: unknown): void {
    const nowMs = clock.monotonicMs();
    if (nowMs < silentUntilMs) return;
    silentUntilMs = nowMs + warningIntervalMs;
    log.warn({ err: error }, 'could not reach the Valkey of the credit leases');
  }

  const counter: LimitCounter = {
    clock,
    peek: ({ orgId, set, costs }) => limiter.peek({ tag: orgId, policies: withCosts(set, costs) }),
    count: ({ orgId, set }) => limiter.consume({ tag: orgId, policies: withCosts(set, costsFor(set, 0)) }),
  };

  return {
    async reserve(request) {
      const checked = checkReserveRequest(request);
      if (checked.mode === 'test') return testReserver.reserve(checked);
      if (checked.least > maxPerLease)
        return { refused: 'INSUFFICIENT_BALANCE', rate: await counter.count(checked) };
      const { held } = ownerLeaseOf(checked);
      held.wait(checked);
      try {
        return await reserveFromLease(held, checked, counter);
      } catch (error) {
        warnRarely(error);
        return { refused: toAdmissionErrorReason(null), rate: uncountedDecision(checked.set.limits) };
      } finally {
        held.stopWaiting(checked);
      }
    },

    async settle(reservation, actual, tokens = reservation.tokens) {
      requireAmount(actual, maxPerLease);
      if (reservation.leaseId === null) return testReserver.settle(reservation, tokens);
      const most = actual < reservation.amount ? actual : reservation.amount;
      return ownerLeaseOf(reservation).settling.settle(reservation, most, tokens);
    },

    async maintain() {
      await runner.run([...ownerLeases], {
        key: ([key]) => key,
        work: async ([key, { held, endLost }]) => {
          // Before the loss check, so that a slow Valkey does not delay the renewal.
          await held.maintain();
          await endLost();
          // Checked just before the deletion: a request may have arrived while the ends were published.
          if (held.isDone()) ownerLeases.delete(key);
        },
        maxWaitMs: maintenanceTimeoutMs,
      });
    },

    async close() {
      await Promise.all([...ownerLeases.values()].map(({ held }) => held.close()));
    },
  };
}
