import type { MachineRef, MachineView, OwnedMachines } from '@millrace/compute';
import type { NodeMaintenancePeriod } from '../../fleet/index.ts';
import { isPinnedToHost, type Rental } from '../model/rental.ts';

/**
 * Plans repairs from the rows of rentals and the engine's view of their machines. Pure, so that a dry run reports exactly what a
 * real run does, and a repair can be planned again under the rental's lock.
 */

export interface InventoryPolicy {
  /** Interval between comparisons of a cluster. */
  readonly everyMs: number;
  /** Minimum time between comparisons, also after hints. */
  readonly gapMs: number;
  /** A longer time between comparisons is a gap, in which the state of machines is unknown. */
  readonly watchGapMs: number;
  /** Lease of one comparison. Longer than the sum of its timeouts. */
  readonly leaseMs: number;
  /** Timeouts for listing machines and for describing doubtful ones. */
  readonly listTimeoutMs: number;
  /** Timeout for listing a supplier's host or a silent engine. */
  readonly shortListTimeoutMs: number;
  readonly closeLooksMs: number;
  /** Time after which no further repair starts; the next comparison finds the rest. */
  readonly repairsMs: number;
  /** Timeout of one call for the removal of an orphan. */
  readonly callTimeoutMs: number;
  /** Time without an observation after which a rental becomes Unknown. */
  readonly unknownAfterMs: number;
  /** How long an Unknown rental is still billed. */
  readonly pauseAfterMs: number;
  /** Time without an observation after which the host counts as lost. */
  readonly lostAfterMs: number;
  /** Maximum number of doubtful machines that a comparison describes one by one. */
  readonly closeLooks: number;
  /** If more machines than this number and this percentage are missing at once, the engine's report is not trusted. */
  readonly vanishedFloor: number;
  readonly vanishedPercent: number;
  /** Minimum age of an orphan before its removal. */
  readonly orphanAfterMs: number;
  /** Minimum age for orphans with another purpose, which their creator normally deletes. */
  readonly purposeAfterMs: number;
  /** Maximum number of orphans removed per comparison. */
  readonly removalsAtOnce: number;
  /** If more orphans than this number and this percentage are due for removal, an operator must approve it. */
  readonly removalFloor: number;
  readonly removalPercent: number;
}

export const defaultInventoryPolicy: InventoryPolicy = {
  everyMs: 10_000,
  gapMs: 2_000,
  watchGapMs: 45_000,
  leaseMs: 60_000,
  listTimeoutMs: 20_000,
  shortListTimeoutMs: 4_000,
  closeLooksMs: 15_000,
  repairsMs: 20_000,
  callTimeoutMs: 10_000,
  unknownAfterMs: 90_000,
  pauseAfterMs: 5 * 60_000,
  lostAfterMs: 30 * 60_000,
  closeLooks: 64,
  vanishedFloor: 5,
  vanishedPercent: 25,
  orphanAfterMs: 60_000,
  purposeAfterMs: 900_000,
  removalsAtOnce: 5,
  removalFloor: 3,
  removalPercent: 10,
};

export function exceedsFloorAndPercent(
  count: number,
  of: number,
  limit: { floor: number; percent: number },
): boolean {
  return count > limit.floor && count * 100 > of * limit.percent;
}

/**
 * State of a machine as its engine reports it. `broken`: the engine reports an error. `missing`: it has no such machine. `unheard`:
 * unknown, because the engine, the node or the response about the machine is missing.
 */
export type ObservedState = 'on' | 'off' | 'changing' | 'broken' | 'missing' | 'unheard';

export type MachinesByKey = ReadonlyMap<string, MachineView>;

export function machineKeyOf({ orgId, externalId }: MachineRef): string {
  return `${orgId}/${externalId}`;
}

export function indexMachines({ machines }: OwnedMachines): MachinesByKey {
  return new Map(machines.map((machine) => [machineKeyOf(machine), machine]));
}

/** `doubtful`: the engine must be asked about this machine. */
export function observeFromList(
  machine: MachineRef & { readonly nodeName: string },
  list: { readonly listed: MachinesByKey; readonly unreachableNodes: ReadonlySet<string> } | null,
): ObservedState | 'doubtful' {
  if (list === null) return 'unheard';
  const view = list.listed.get(machineKeyOf(machine));
  if (view !== undefined && view.power !== 'error') return view.power;
  return list.unreachableNodes.has(view?.nodeName ?? machine.nodeName) ? 'unheard' : 'doubtful';
}

export function observeFromDescribe(view: MachineView | null): ObservedState {
  if (view === null) return 'missing';
  return view.power === 'error' ? 'broken' : view.power;
}

export interface ObservedMachine {
  readonly position: number;
  /** Consecutive reports of absence before this comparison. */
  readonly absentSeen: number;
  readonly observed: ObservedState;
}

export type ComparedRental = Pick<
  Rental,
  | 'kind'
  | 'status'
  | 'statusSince'
  | 'startedAt'
  | 'task'
  | 'power'
  | 'gpuHeld'
  | 'unhealthySince'
  | 'billingPausedAt'
> & {
  /** Last change of the rental by any writer. */
  readonly changedAt: Date;
};

export function toComparedRental(rental: Rental): ComparedRental {
  return { ...rental, changedAt: latest(rental.updatedAt, rental.statusSince) ?? rental.statusSince };
}

/** A Running or Unknown rental with at least one machine of its current attempt. */
export interface ObservedRental {
  readonly rental: ComparedRental;
  readonly machines: readonly ObservedMachine[];
  /** Maintenance of its nodes between its last healthy time and now. */
  readonly windows: readonly Pick<NodeMaintenancePeriod, 'startsAt' | 'endsAt'>[];
}

/** Facts about a whole cluster in one comparison. */
export interface ComparisonContext {
  /** When the engine was asked. */
  readonly now: Date;
  readonly answered: boolean;
  /** Whether the fleet's observer has found the cluster silent. */
  readonly isSilent: boolean;
  /** Start of comparisons without a gap. */
  readonly watchingSince: Date;
  /** Time of the last complete comparison before this one. */
  readonly wholeAt: Date | null;
  /** So many machines are missing that the engine's report is not trusted. */
  readonly isVanishingHeld: boolean;
  readonly policy: InventoryPolicy;
}

export type Repair =
  /** Store the last healthy time and count the absence. */
  | { readonly do: 'note'; readonly since: Date; readonly missing: readonly number[] }
  /** The rental is healthy again. */
  | { readonly do: 'clear' }
  | { readonly do: 'unknown'; readonly since: Date }
  | { readonly do: 'back' }
  /** Pause billing from this instant, or move the pause to an earlier one. */
  | { readonly do: 'pause'; readonly at: Date; readonly because: 'silence' | 'host' | 'maintenance' }
  | { readonly do: 'resume' }
  /** The machine is lost. Billing ends at the last healthy time. */
  | { readonly do: 'fail'; readonly at: Date; readonly because: 'vanished' | 'host_lost' }
  | { readonly do: 'power'; readonly to: 'on' | 'off' }
  /** Off because of its host or maintenance: start it again. */
  | { readonly do: 'start' }
  /** On although its GPUs were released: stop it again. */
  | { readonly do: 'stop' };

/** Metric label of a repair; null for repairs that are not counted. */
export function repairMetricKind(repair: Repair): string | null {
  switch (repair.do) {
    case 'note':
    case 'clear':
      return null;
    case 'unknown':
      return 'unknown';
    case 'back':
      return 'back';
    case 'pause':
      return `paused_${repair.because}`;
    case 'resume':
      return 'resumed';
    case 'fail':
      return repair.because;
    case 'power':
      return 'power';
    case 'start':
      return 'started_again';
    case 'stop':
      return 'stopped_again';
  }
}

/** All metric labels, including those of orphans and overdue rentals. */
export const repairKinds = [
  'unknown',
  'back',
  'paused_silence',
  'paused_host',
  'paused_maintenance',
  'resumed',
  'vanished',
  'host_lost',
  'power',
  'started_again',
  'stopped_again',
  'orphan',
  'stuck',
] as const;

/** The last time at which the machine is known to have run as it should. */
export function lastHealthyAt(
  rental: ComparedRental,
  { now, wholeAt }: Pick<ComparisonContext, 'now' | 'wholeAt'>,
): Date {
  const { unhealthySince, startedAt, status, statusSince } = rental;
  if (unhealthySince !== null) return earliest(unhealthySince, now);
  return earliest(latest(wholeAt, startedAt, status === 'Running' ? statusSince : null) ?? now, now);
}

/** The engine's report is older than the rental's last change. */
export function isObservedBeforeChange(
  { now }: Pick<ComparisonContext, 'now'>,
  { changedAt }: Pick<ComparedRental, 'changedAt'>,
): boolean {
  return changedAt >= now;
}

/** Repairs in their order of execution, billing last. Empty if the rental is healthy or nothing is certain yet. */
export function planRepairs(subject: ObservedRental, context: ComparisonContext): readonly Repair[] {
  if (isObservedBeforeChange(context, subject.rental)) return [];
  const since = lastHealthyAt(subject.rental, context);
  const sights = subject.machines.map(({ observed }) => observed);
  if (sights.includes('changing') && isStuckOnItsHost(subject.rental))
    return planRepairs(withChangingAsBroken(subject), context);
  if (sights.includes('missing') && !context.isVanishingHeld) return planMissing(subject, since);
  if (sights.some((observed) => observed !== 'on' && observed !== 'off' && observed !== 'changing')) {
    return planSilent(subject, context, since);
  }
  if (!sights.includes('changing')) return planAnswering(subject, context, since);
  // A machine in transition is left to the next comparison. One that stays so while Unknown is lost in the end.
  return subject.rental.status === 'Unknown' ? planSilent(subject, context, since) : [];
}

/**
 * Only its host can keep an instance between on and off, for example frozen, and its supplier would be paid for nothing. So it
 * counts as broken, unless the platform itself switches it.
 */
function isStuckOnItsHost(rental: ComparedRental): boolean {
  return isPinnedToHost(rental) && rental.task === null;
}

function withChangingAsBroken(subject: ObservedRental): ObservedRental {
  const machines = subject.machines.map((machine) =>
    machine.observed === 'changing' ? { ...machine, observed: 'broken' as const } : machine,
  );
  return { ...subject, machines };
}

/** The absence must be reported in two comparisons. */
function planMissing({ rental, machines }: ObservedRental, since: Date): readonly Repair[] {
  const absent = machines.filter(({ observed }) => observed === 'missing');
  if (absent.every(({ absentSeen }) => absentSeen === 0)) {
    return [{ do: 'note', since, missing: absent.map(({ position }) => position) }];
  }
  const fail = { do: 'fail', at: since, because: 'vanished' } as const;
  return rental.status === 'Unknown' ? [fail] : [{ do: 'unknown', since }, fail];
}

/** Only observed time counts, and towards the loss of a host only time outside maintenance. */
function planSilent(subject: ObservedRental, context: ComparisonContext, since: Date): readonly Repair[] {
  const { rental, windows } = subject;
  const { now, policy } = context;
  // Perhaps only this process cannot reach the engine; the fleet's observer decides whether it is silent.
  if (!context.answered && !context.isSilent) return [];
  const watched = latest(since, context.watchingSince) ?? now;
  const isUnknown = rental.status === 'Unknown';
  if (!isUnknown && msBetween(watched, now) < policy.unknownAfterMs) {
    // Without a response the last complete comparison does not advance, so nothing needs to be stored.
    return context.answered && rental.unhealthySince === null ? [{ do: 'note', since, missing: [] }] : [];
  }
  const unknown: readonly Repair[] = isUnknown ? [] : [{ do: 'unknown', since }];
  const outside = latest(watched, ...windows.map(({ endsAt }) => endsAt)) ?? now;
  if (isUnknown && msBetween(outside, now) >= policy.lostAfterMs) {
    return [{ do: 'fail', at: since, because: 'host_lost' }];
  }
  return [...unknown, ...planBillingPause(subject, context, since)];
}

/** Start of the billing pause of an unreachable rental. */
function planBillingPause(
  { rental, machines, windows }: ObservedRental,
  context: ComparisonContext,
  since: Date,
): readonly Repair[] {
  const { now, policy } = context;
  const pauses: Extract<Repair, { do: 'pause' }>[] = [];
  if (machines.some(({ observed }) => observed === 'broken'))
    pauses.push({ do: 'pause', at: since, because: 'host' });
  for (const { startsAt } of windows) {
    pauses.push({ do: 'pause', at: latest(since, startsAt) ?? since, because: 'maintenance' });
  }
  if (rental.status === 'Unknown' && msBetween(rental.statusSince, now) >= policy.pauseAfterMs) {
    const at = new Date(rental.statusSince.getTime() + policy.pauseAfterMs);
    pauses.push({ do: 'pause', at, because: 'silence' });
  }
  const [first] = pauses.toSorted((one, other) => one.at.getTime() - other.at.getTime());
  return first === undefined ? [] : unlessPaused(rental, first);
}

/** A pause is only moved to an earlier instant. */
function unlessPaused(
  { billingPausedAt }: ComparedRental,
  pause: Extract<Repair, { do: 'pause' }>,
): readonly Repair[] {
  return billingPausedAt !== null && billingPausedAt <= pause.at ? [] : [pause];
}

/** The engine reports every machine as on or off. */
function planAnswering(subject: ObservedRental, context: ComparisonContext, since: Date): readonly Repair[] {
  const { rental, machines } = subject;
  const isOn = machines.every(({ observed }) => observed === 'on');
  const wasAbsent = machines.some(({ absentSeen }) => absentSeen > 0);
  const settled: Repair[] = [];
  if (rental.status === 'Unknown') settled.push({ do: 'back' });
  else if (rental.unhealthySince !== null || wasAbsent) settled.push({ do: 'clear' });
  return isOn ? [...settled, ...planPoweredOn(rental)] : planPoweredOff(subject, context, { since, settled });
}

function planPoweredOn(rental: ComparedRental): readonly Repair[] {
  const resume: readonly Repair[] = rental.billingPausedAt === null ? [] : [{ do: 'resume' }];
  if (rental.task !== null || rental.power === 'on') return resume;
  return [rental.gpuHeld ? { do: 'power', to: 'on' } : { do: 'stop' }, ...resume];
}

/**
 * A machine that was on is off. The tenant may have switched it off from inside and keeps paying. If it went off unobserved or in a
 * maintenance window, the tenant did not do it: it is started again and not billed until it is on. For an instance it is unknown
 * whether tenant or host owner did it, so it is started again and costs nothing from the observation until it is on.
 */
function planPoweredOff(
  { rental, windows }: ObservedRental,
  { now }: ComparisonContext,
  { since, settled }: { readonly since: Date; readonly settled: readonly Repair[] },
): readonly Repair[] {
  if (rental.task !== null) return settled;
  const isBound = isPinnedToHost(rental);
  const isInWindow = windows.some(({ startsAt, endsAt }) => startsAt <= now && now < endsAt);
  const start: readonly Repair[] = isInWindow ? [] : [{ do: 'start' }];
  if (rental.power !== 'off') {
    const [window] = windows;
    const cause = rental.unhealthySince !== null ? 'host' : window !== undefined ? 'maintenance' : null;
    const off: readonly Repair[] = [...settled, { do: 'power', to: 'off' }];
    if (cause === null && isBound) {
      return [...off, ...start, ...unlessPaused(rental, { do: 'pause', at: now, because: 'host' })];
    }
    if (cause === null) return off;
    const at = cause === 'host' ? since : (latest(since, window?.startsAt) ?? since);
    return [...off, ...start, ...unlessPaused(rental, { do: 'pause', at, because: cause })];
  }
  if (rental.billingPausedAt === null) {
    return isBound ? [...settled, ...start, { do: 'pause', at: now, because: 'host' }] : settled;
  }
  // The rental was off when its engine became unreachable, and only that paused its billing.
  const wasOffBefore = rental.status === 'Unknown' && rental.billingPausedAt >= rental.statusSince;
  return (wasOffBefore && !isBound) || !rental.gpuHeld
    ? [...settled, { do: 'resume' }]
    : [...settled, ...start];
}

function msBetween(from: Date, to: Date): number {
  return to.getTime() - from.getTime();
}

function latest(...dates: readonly (Date | null | undefined)[]): Date | null {
  const times = dates.flatMap((date) => date?.getTime() ?? []);
  return times.length === 0 ? null : new Date(Math.max(...times));
}

function earliest(one: Date, other: Date): Date {
  return one < other ? one : other;
}
