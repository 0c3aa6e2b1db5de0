import {
  defaultInventoryPolicy as policy,
  type ComparedRental,
  type ComparisonContext,
  type ObservedState,
  type ObservedRental,
} from './plan-repairs.ts';
import { at } from '../view.fixture.ts';

export const S = 1_000;

export const MINUTE = 60 * S;

export const NOW = 60 * MINUTE;

/** A rental that has always been on, in a cluster that was compared ten seconds ago. */
export const rentalWith = (fields: Partial<ComparedRental> = {}): ComparedRental => ({
  kind: 'virtual-machine',
  status: 'Running',
  statusSince: at(0),
  startedAt: at(0),
  task: null,
  power: 'on',
  gpuHeld: true,
  unhealthySince: null,
  billingPausedAt: null,
  changedAt: at(0),
  ...fields,
});

export const unknownSince = (ms: number, fields: Partial<ComparedRental> = {}): ComparedRental =>
  rentalWith({
    status: 'Unknown',
    statusSince: at(ms),
    changedAt: at(ms),
    unhealthySince: at(ms - 100 * S),
    ...fields,
  });

export const subject = (rental: ComparedRental, ...sights: readonly ObservedState[]): ObservedRental => ({
  rental,
  machines: sights.map((observed, index) => ({ position: index + 1, absentSeen: 0, observed: observed })),
  windows: [],
});

export const context = (fields: Partial<ComparisonContext> = {}): ComparisonContext => ({
  now: at(NOW),
  answered: true,
  isSilent: false,
  watchingSince: at(0),
  wholeAt: at(NOW - 10 * S),
  isVanishingHeld: false,
  policy,
  ...fields,
});

export const unanswered = (fields: Partial<ComparisonContext> = {}): ComparisonContext =>
  context({ answered: false, isSilent: true, wholeAt: at(NOW - 95 * S), ...fields });

export const troubled = (agoMs: number): ComparedRental => rentalWith({ unhealthySince: at(NOW - agoMs) });
