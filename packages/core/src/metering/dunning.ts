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

/** Pure decisions about a wallet that runs out of money. */

/** The burn rate of a wallet's running meters. Meters of a committed term are paid for and left out. */
export interface WalletBurnRate extends BurnRate {
  /** When the first hold ends; null if nothing is running. */
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

function heldForRunningOf(meter: Meter, now: Date): NanoUsd {
  const elapsedMs = Math.max(meter.postedMs, elapsedAt(meter, now));
  return nanoUsd(meter.held - computeSettlement(meter, elapsedMs).charge - retentionCostOf(meter));
}

const levelOrder: readonly DunningLevel[] = ['fine', ...dunningThresholds.map((threshold) => threshold.step)];
const levelIndexOf = (step: DunningLevel): number => levelOrder.indexOf(step);

/** The lowest level whose threshold the runway has reached, or has not left yet. */
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
  /** Null if the level rises. A fall across several levels has one announcement, that of the level reached. */
  readonly announce: 'balance.low' | 'balance.floor' | null;
  /** The wallet has money again, so unclaimed actions are not needed. */
  readonly recovered: boolean;
}

/** Null if the level stays the same. */
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

/** Whether a budget prevents a renewal: a hold ends within the time to stop, although the wallet has money. */
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

/** Whether one hold ends much earlier than others while the wallet does not cover the next renewals. */
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

/** Makes all meters last equally long. Otherwise the meter that is renewed first would take all the money. */
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
