import type { NodeId } from '@millrace/platform/ids';
import { addUsd, divideRoundDown, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { monthOf, type TransferPeriod } from '../../ledger/index.ts';

/** Amounts that the ledger posted for one machine, less returned amounts. */
export interface MachineEarnings {
  /** Null if the machine is unknown. */
  readonly machineId: NodeId | null;
  readonly gpuMs: bigint;
  /** The tenant's payment: the supplier's earning plus the fee. */
  readonly gross: NanoUsd;
  readonly fee: NanoUsd;
  readonly earned: NanoUsd;
}

export interface DailyEarnings extends MachineEarnings {
  /** The start of the day in UTC. */
  readonly day: Date;
}

/** The sums; null if all are zero. */
function addEarnings(earnings: readonly MachineEarnings[]): Omit<MachineEarnings, 'machineId'> | null {
  const gpuMs = earnings.reduce((sum, part) => sum + part.gpuMs, 0n);
  const sums = { gpuMs, ...sumEarningTotals(earnings) };
  return gpuMs === 0n && sums.gross === 0n && sums.fee === 0n && sums.earned === 0n ? null : sums;
}

/** In the order of the input. Machines whose sums are zero are left out. */
export function earningsByMachine(daily: readonly DailyEarnings[]): readonly MachineEarnings[] {
  return [...Map.groupBy(daily, ({ machineId }) => machineId)].flatMap(([machineId, rows]) => {
    const sums = addEarnings(rows);
    return sums === null ? [] : [{ machineId, ...sums }];
  });
}

/** Oldest first. Days whose sums are zero are left out. */
export function earningsByDay(
  daily: readonly DailyEarnings[],
): readonly { readonly day: Date; readonly gpuMs: bigint; readonly earned: NanoUsd }[] {
  return [...Map.groupBy(daily, ({ day }) => day.getTime())]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([day, rows]) => {
      const sums = addEarnings(rows);
      return sums === null ? [] : [{ day: new Date(day), gpuMs: sums.gpuMs, earned: sums.earned }];
    });
}

export function sumEarningTotals(machines: readonly MachineEarnings[]) {
  return {
    gross: addUsd(zeroUsd, ...machines.map((machine) => machine.gross)),
    fee: addUsd(zeroUsd, ...machines.map((machine) => machine.fee)),
    earned: addUsd(zeroUsd, ...machines.map((machine) => machine.earned)),
  };
}

/** Whole seconds, rounded towards zero. */
export function toGpuSeconds(gpuMs: bigint): number {
  const seconds = divideRoundDown(gpuMs < 0n ? -gpuMs : gpuMs, 1000n);
  return Number(gpuMs < 0n ? -seconds : seconds);
}

const DAY_MS = 86_400_000;
export const PERIOD_DAYS_MAX = 366;

/** Defaults to the current month until now. */
export function earningsPeriod(
  requested: { readonly from: Date | null; readonly until: Date | null },
  now: Date,
): TransferPeriod | 'ends before it begins' | 'too long' {
  const until = requested.until ?? now;
  const from = requested.from ?? monthOf(until);
  if (from > until) return 'ends before it begins';
  return until.getTime() - from.getTime() > PERIOD_DAYS_MAX * DAY_MS ? 'too long' : { from, until };
}
