import type { EventData } from '@millrace/contract';
import {
  addUsd,
  nanoUsd,
  divideWithRemainder,
  toNearestUsdNumber,
  type NanoUsd,
} from '@millrace/platform/money';
import { runwayMs, type Balance, type BurnRate } from '../ledger/index.ts';
import {
  elapsedAt,
  holdAmount,
  holdTarget,
  retentionCostOf,
  computeSettlement,
  minUsd,
  type Meter,
} from './meter.ts';
import { dunningThresholds, type DunningLevel, type MeteringPolicy } from './policy.ts';

/** What happens to a wallet as its money ends: pure decisions. */

/** What a wallet's running meters come to. Meters of a committed term have their money and are left out. */
export interface WalletBurnRate extends BurnRate {
  /** When the first of them runs dry by its own hold; null when none runs. */
  readonly driesAt: Date | null;
}

export function burnRateOf(meters: readonly Meter[], now: Date): WalletBurnRate {
  let burnPerHour = 0n;
  let driesMs = Infinity;
  for (const meter of meters) {
    burnPerHour += meter.ratePerHour;
    if (meter.coveredUntil !== null) {
      driesMs = Math.min(driesMs, meter.coveredUntil.getTime() - meter.retentionMs);
    }
  }
  return {
    burnPerHour: nanoUsd(burnPerHour),
    cover: addUsd(...meters.map((meter) => heldForRunningOf(meter, now))),
    driesAt: driesMs === Infinity ? null : new Date(driesMs),
  };
}

/** What a meter's hold still has for running time. */
function heldForRunningOf(meter: Meter, now: Date): NanoUsd {
  const elapsedMs = Math.max(meter.postedMs, elapsedAt(meter, now));
  return nanoUsd(meter.held - computeSettlement(meter, elapsedMs).charge - retentionCostOf(meter));
}

const levelOrder: readonly DunningLevel[] = ['fine', ...dunningThresholds.map((threshold) => threshold.step)];
const levelIndexOf = (step: DunningLevel): number => levelOrder.indexOf(step);

/** The lowest rung that the runway has come down to, or that it has not yet left. */
export function dunningLevelAt(current: DunningLevel, runway: number | null): DunningLevel {
  if (runway === null) return 'fine';
  const standing = levelIndexOf(current);
  const threshold = dunningThresholds.findLast(
    ({ atMs, leftAboveMs }, index) => runway <= (index < standing ? leftAboveMs : atMs),
  );
  return threshold?.step ?? 'fine';
}

export interface DunningTransition {
  readonly step: DunningLevel;
  /** Told on the way down only, and once for a fall over several rungs. */
  readonly announce: 'balance.low' | 'balance.floor' | null;
  /** Money came in: what nobody has begun need not be done any more. */
  readonly recovered: boolean;
}

/** Null when the wallet stays where it is. */
export function dunningTransitionOf(current: DunningLevel, runway: number | null): DunningTransition | null {
  const step = dunningLevelAt(current, runway);
  if (step === current) return null;
  const down = levelIndexOf(step) > levelIndexOf(current);
  return {
    step,
    announce: !down ? null : step === 'empty' ? 'balance.floor' : 'balance.low',
    recovered: current === 'empty',
  };
}

/** What the tenant is told about the wallet. */
export function balanceEventData(
  balance: Pick<Balance, 'balance' | 'available'>,
  burn: WalletBurnRate,
  runway: number | null,
): EventData<'balance.low'> {
  return {
    balanceNanoUsd: balance.balance.toString(),
    availableNanoUsd: balance.available.toString(),
    burnRateUsdPerHour: toNearestUsdNumber(burn.burnPerHour),
    runwaySeconds: runway === null ? null : divideWithRemainder(runway, 1_000)[0],
  };
}

/**
 * Something in the wallet is paid for by its hold only as long as stopping it takes, and the wallet itself is not about
 * to be empty: a budget keeps its hold from being renewed.
 */
export function isBudgetExhausting(
  burn: Pick<WalletBurnRate, 'driesAt'>,
  runway: number | null,
  now: Date,
  policy: MeteringPolicy,
): boolean {
  if (burn.driesAt === null || runway === null) return false;
  return (
    burn.driesAt.getTime() - now.getTime() <= policy.stopAheadMs &&
    runway > policy.stopAheadMs + policy.retryMs
  );
}

/**
 * The wallet has no more than the next renewals would take, and something in it is about to run dry while others have
 * time in hand. With more money than that, renewals put it right by themselves.
 */
export function needsEqualizing(
  burn: Pick<WalletBurnRate, 'driesAt'>,
  runway: number | null,
  now: Date,
  policy: MeteringPolicy,
): boolean {
  if (burn.driesAt === null || runway === null) return false;
  if (runway >= policy.postEveryMs + policy.marginMs) return false;
  const dryInMs = burn.driesAt.getTime() - now.getTime();
  return dryInMs < Math.min(runway, policy.marginMs) - policy.retryMs;
}

/**
 * How the money that a wallet has left is shared out so that everything runs equally long: the target of each hold.
 * Without this, what was renewed last would have an hour and what comes next would have nothing.
 */
export function equalizedHoldTargets(
  meters: readonly Meter[],
  available: NanoUsd,
  now: Date,
  policy: MeteringPolicy,
): ReadonlyMap<Meter['id'], NanoUsd> {
  const runway = runwayMs(burnRateOf(meters, now), available) ?? 0;
  const aheadMs = Math.min(runway, policy.postEveryMs + policy.marginMs);
  return new Map(
    meters.map((meter) => {
      const elapsedMs = Math.max(meter.postedMs, elapsedAt(meter, now));
      const full = holdTarget(meter, elapsedMs, now, policy);
      const level = addUsd(holdAmount(meter, elapsedMs, aheadMs), retentionCostOf(meter));
      return [meter.id, minUsd(level, full)];
    }),
  );
}
