import type { NodeId } from '@millrace/platform/ids';
import { addUsd, divideRoundDown, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { monthOf, type TransferPeriod } from '../../ledger/index.ts';

/** What machines earned in a time. Pure. */

/** What the ledger posted for one machine, less what was given back. */
export interface MachineEarnings {
  /** Null where it is not known which machine it was on. */
  readonly machineId: NodeId | null;
  readonly gpuMs: bigint;
  /** What was paid for it: what the supplier earned, and the fee. */
  readonly gross: NanoUsd;
  readonly fee: NanoUsd;
  readonly earned: NanoUsd;
}

/** The same of one day. */
export interface DailyEarnings extends MachineEarnings {
  /** Its first instant, in UTC. */
  readonly day: Date;
}

/** What several parts are together; null where they are nothing at all. */
function addEarnings(earnings: readonly MachineEarnings[]): Omit<MachineEarnings, 'machineId'> | null {
  const gpuMs = earnings.reduce((sum, part) => sum + part.gpuMs, 0n);
  const sums = { gpuMs, ...sumEarningTotals(earnings) };
  return gpuMs === 0n && sums.gross === 0n && sums.fee === 0n && sums.earned === 0n ? null : sums;
}

/** In the order in which the machines come. What was wholly given back is left out. */
export function earningsByMachine(daily: readonly DailyEarnings[]): readonly MachineEarnings[] {
  return [...Map.groupBy(daily, ({ machineId }) => machineId)].flatMap(([machineId, rows]) => {
    const sums = addEarnings(rows);
    return sums === null ? [] : [{ machineId, ...sums }];
  });
}

/** Oldest first. Days on which nothing was earned are left out. */
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

/** Whole seconds; a rest of a second is left out, whichever way it goes. */
export function toGpuSeconds(gpuMs: bigint): number {
  const seconds = divideRoundDown(gpuMs < 0n ? -gpuMs : gpuMs, 1000n);
  return Number(gpuMs < 0n ? -seconds : seconds);
}

const DAY_MS = 86_400_000;
export const PERIOD_DAYS_MAX = 366;

/** The time that is asked about: this month so far unless it is said. */
export function earningsPeriod(
  requested: { readonly from: Date | null; readonly until: Date | null },
  now: Date,
): TransferPeriod | 'ends before it begins' | 'too long' {
  const until = requested.until ?? now;
  const from = requested.from ?? monthOf(until);
  if (from > until) return 'ends before it begins';
  return until.getTime() - from.getTime() > PERIOD_DAYS_MAX * DAY_MS ? 'too long' : { from, until };
}
