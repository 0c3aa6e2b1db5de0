import type { Answer, Contract } from '@millrace/contract';
import { msToSecondsRoundDown, ppmPerWhole, share, type Ppm } from '@millrace/platform/money';
import type { HistoryEntry } from './trust-evidence.store.ts';
import type { MachineTrust } from './trust.store.ts';

/** How far a machine can be relied on, and what became of it, as answers. */

type Operations = Contract['operations'];
type WireReliability = NonNullable<Answer<Operations['supplierGetMachine']>['reliability']>;
type WireHistory = Answer<Operations['supplierGetMachineHistory']>;

const partOf = (part: Ppm): number => share(part, ppmPerWhole);

export function toWireReliability(trust: MachineTrust): WireReliability {
  const { figures } = trust;
  return {
    score: partOf(trust.score),
    uptime: partOf(trust.uptime),
    starting: partOf(trust.starting),
    watchedSeconds: msToSecondsRoundDown(figures.watchedMs),
    starts: figures.starts,
    failedStarts: figures.failedStarts,
    losses: figures.losses,
    quarantines: trust.quarantines,
    measuredUntil: trust.measuredUntil.toISOString(),
  };
}

export function toWireHistory(entries: readonly HistoryEntry[]): WireHistory {
  return { items: entries.map(({ at, ...entry }) => ({ at: at.toISOString(), ...entry })) };
}
