import type { ResponseBody, Contract } from '@millrace/contract';
import { msToSecondsRoundDown, ppmPerWhole, ratio, type Ppm } from '@millrace/platform/money';
import type { MachineHistoryEntry } from './quarantine-evidence.store.ts';
import type { MachineReliability } from './reliability.store.ts';

type Operations = Contract['operations'];
type WireReliability = NonNullable<ResponseBody<Operations['supplierGetMachine']>['reliability']>;
type WireHistory = ResponseBody<Operations['supplierGetMachineHistory']>;

const toFraction = (part: Ppm): number => ratio(part, ppmPerWhole);

export function toWireReliability(trust: MachineReliability): WireReliability {
  const { figures } = trust;
  return {
    score: toFraction(trust.score),
    uptime: toFraction(trust.uptime),
    starting: toFraction(trust.starting),
    watchedSeconds: msToSecondsRoundDown(figures.watchedMs),
    starts: figures.starts,
    failedStarts: figures.failedStarts,
    losses: figures.losses,
    quarantines: trust.quarantines,
    measuredUntil: trust.measuredUntil.toISOString(),
  };
}

export function toWireHistory(entries: readonly MachineHistoryEntry[]): WireHistory {
  return { items: entries.map(({ at, ...entry }) => ({ at: at.toISOString(), ...entry })) };
}
