import type { MachineRef, MachineView, OwnedMachines } from '@millrace/compute';
import type { NodeMaintenancePeriod } from '../../fleet/index.ts';
import { isPinnedToHost, type Rental } from '../model/rental.ts';

/**
 * What is wrong between rentals and their machines, and what is to be done about it. Pure: the same rows and the same
 * answers of an engine give the same acts, so that a dry run says what a real one would do, and whoever acts judges once
 * more under the rental's lock.
 */

export interface InventoryPolicy {
  /** How often each cluster is compared. */
  readonly everyMs: number;
  /** Hints bring a comparison forward, but never closer to the last one than this. */
  readonly gapMs: number;
  /** Comparisons further apart than this are two watches: nobody knows what was between them. */
  readonly watchGapMs: number;
  /** How long one comparison may take before another process may begin one. What its parts may take is less together. */
  readonly leaseMs: number;
  /** How long an engine may take to list its machines, and to speak about those that look wrong in the list. */
  readonly listTimeoutMs: number;
  /** The same for one host of a supplier, and for an engine that is known to be silent. */
  readonly shortListTimeoutMs: number;
  readonly closeLooksMs: number;
  /** How long repairs are begun; the rest is found again by the next comparison. */
  readonly repairsMs: number;
  /** How long an engine may take to cut off or to remove a machine that nobody knows. */
  readonly callTimeoutMs: number;
  /** How long a machine may be unheard of before its rental is Unknown. */
  readonly unknownAfterMs: number;
  /** How long an Unknown rental is billed on. */
  readonly pauseAfterMs: number;
  /** How long a machine may be unheard of before its host counts as lost. */
  readonly lostAfterMs: number;
  /** Machines that look wrong in the list and are asked for one by one, in each comparison. */
  readonly closeLooks: number;
  /** When so many machines are missing at once, and more than this part of all, the engine is not believed. */
  readonly vanishedFloor: number;
  readonly vanishedPercent: number;
  /** How long a machine that nobody knows is left alone. */
  readonly orphanAfterMs: number;
  /** How long one that says what else it was made for is: who made it removes it, unless that died. */
  readonly purposeAfterMs: number;
  /** Machines that nobody knows and that are removed in one comparison. */
  readonly removalsAtOnce: number;
  /** When more than so many are to be removed, and more than this part of all, a person is asked. */
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

/** More than so many, and more than so many of a hundred. */
export function exceedsFloorAndPercent(
  count: number,
  of: number,
  limit: { floor: number; percent: number },
): boolean {
  return count > limit.floor && count * 100 > of * limit.percent;
}

/**
 * What an engine says of a machine. `broken`: it has it and calls it broken. `missing`: it says that it has none.
 * `unheard`: nobody knows, because the engine, the machine's node or the word about it is silent.
 */
export type ObservedState = 'on' | 'off' | 'changing' | 'broken' | 'missing' | 'unheard';

export type MachinesByKey = ReadonlyMap<string, MachineView>;

export function machineKeyOf({ orgId, externalId }: MachineRef): string {
  return `${orgId}/${externalId}`;
}

export function indexMachines({ machines }: OwnedMachines): MachinesByKey {
  return new Map(machines.map((machine) => [machineKeyOf(machine), machine]));
}

/** What the list alone says of a machine; `doubtful` where the engine must be asked about it once more. */
export function observeFromList(
  machine: MachineRef & { readonly nodeName: string },
  list: { readonly listed: MachinesByKey; readonly unreachableNodes: ReadonlySet<string> } | null,
): ObservedState | 'doubtful' {
  if (list === null) return 'unheard';
  const view = list.listed.get(machineKeyOf(machine));
  if (view !== undefined && view.power !== 'error') return view.power;
  return list.unreachableNodes.has(view?.nodeName ?? machine.nodeName) ? 'unheard' : 'doubtful';
}

/** What the engine says when asked about this one machine. */
export function observeFromDescribe(view: MachineView | null): ObservedState {
  if (view === null) return 'missing';
  return view.power === 'error' ? 'broken' : view.power;
}

export interface ObservedMachine {
  readonly position: number;
  /** How often the engine has said in a row that it has no such machine, before this time. */
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
  /** When it was last changed by anybody. */
  readonly changedAt: Date;
};

export function toComparedRental(rental: Rental): ComparedRental {
  return { ...rental, changedAt: latest(rental.updatedAt, rental.statusSince) ?? rental.statusSince };
}

/** A rental that is Running or Unknown, with the machines of its present attempt. At least one of them. */
export interface ObservedRental {
  readonly rental: ComparedRental;
  readonly machines: readonly ObservedMachine[];
  /** The maintenance of its nodes between its last good sign and now. */
  readonly windows: readonly Pick<NodeMaintenancePeriod, 'startsAt' | 'endsAt'>[];
}

/** What holds for a whole cluster in one comparison. */
export interface ComparisonContext {
  /** When the engine was asked. */
  readonly now: Date;
  /** Whether the engine listed its machines. */
  readonly answered: boolean;
  /** Whether the fleet's observer has found the cluster silent, by its own watch. */
  readonly isSilent: boolean;
  /** Since when comparisons were tried without a gap. */
  readonly watchingSince: Date;
  /** When the cluster was last compared as a whole, before this time. */
  readonly wholeAt: Date | null;
  /** So many machines are missing that the engine is not believed. */
  readonly isVanishingHeld: boolean;
  readonly policy: InventoryPolicy;
}

export type Repair =
  /** The last good sign is kept, and that the engine has no such machine is counted. */
  | { readonly do: 'note'; readonly since: Date; readonly missing: readonly number[] }
  /** All is well again. */
  | { readonly do: 'clear' }
  | { readonly do: 'unknown'; readonly since: Date }
  | { readonly do: 'back' }
  /** Billing stops at this instant, or at this earlier one than it had. */
  | { readonly do: 'pause'; readonly at: Date; readonly because: 'silence' | 'host' | 'maintenance' }
  | { readonly do: 'resume' }
  /** The machine is lost. Billing ends at the last good sign. */
  | { readonly do: 'fail'; readonly at: Date; readonly because: 'vanished' | 'host_lost' }
  | { readonly do: 'power'; readonly to: 'on' | 'off' }
  /** Off because of its host or of maintenance: switched on again. */
  | { readonly do: 'start' }
  /** Its GPUs were given back, and it is on: switched off again. */
  | { readonly do: 'stop' };

/** Kinds of repair as they are counted; null for what is only remembered. */
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

/** All kinds that are counted, those about strays and late looks included. */
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

/** The last time at which the machine is known to have been as it should be. */
export function lastHealthyAt(
  rental: ComparedRental,
  { now, wholeAt }: Pick<ComparisonContext, 'now' | 'wholeAt'>,
): Date {
  const { unhealthySince, startedAt, status, statusSince } = rental;
  if (unhealthySince !== null) return earliest(unhealthySince, now);
  return earliest(latest(wholeAt, startedAt, status === 'Running' ? statusSince : null) ?? now, now);
}

/** What the engine said is older than what the rental is now. */
export function isObservedBeforeChange(
  { now }: Pick<ComparisonContext, 'now'>,
  { changedAt }: Pick<ComparedRental, 'changedAt'>,
): boolean {
  return changedAt >= now;
}

/**
 * What is to be done about a rental, in this order, and what concerns the books last. Nothing: it is as it should be, or
 * nothing can be said yet.
 */
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
  // It is on its way somewhere, and the next comparison sees where. One that stays so for ever is lost all the same.
  return subject.rental.status === 'Unknown' ? planSilent(subject, context, since) : [];
}

/**
 * Nobody but its host can keep an instance between on and off, frozen for example, and its supplier would be paid for
 * nothing. So it counts as broken, unless we are the ones who switch it.
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

/** The engine must say so in two comparisons. */
function planMissing({ rental, machines }: ObservedRental, since: Date): readonly Repair[] {
  const absent = machines.filter(({ observed }) => observed === 'missing');
  if (absent.every(({ absentSeen }) => absentSeen === 0)) {
    return [{ do: 'note', since, missing: absent.map(({ position }) => position) }];
  }
  const fail = { do: 'fail', at: since, because: 'vanished' } as const;
  return rental.status === 'Unknown' ? [fail] : [{ do: 'unknown', since }, fail];
}

/** Time counts only while somebody looked, and towards the loss of a host only outside of maintenance. */
function planSilent(subject: ObservedRental, context: ComparisonContext, since: Date): readonly Repair[] {
  const { rental, windows } = subject;
  const { now, policy } = context;
  // Perhaps only this process cannot reach the engine: others decide whether it is silent.
  if (!context.answered && !context.isSilent) return [];
  const watched = latest(since, context.watchingSince) ?? now;
  const isUnknown = rental.status === 'Unknown';
  if (!isUnknown && msBetween(watched, now) < policy.unknownAfterMs) {
    // Where nothing answers, the time of the last whole comparison stands still and says the same.
    return context.answered && rental.unhealthySince === null ? [{ do: 'note', since, missing: [] }] : [];
  }
  const unknown: readonly Repair[] = isUnknown ? [] : [{ do: 'unknown', since }];
  const outside = latest(watched, ...windows.map(({ endsAt }) => endsAt)) ?? now;
  if (isUnknown && msBetween(outside, now) >= policy.lostAfterMs) {
    return [{ do: 'fail', at: since, because: 'host_lost' }];
  }
  return [...unknown, ...planBillingPause(subject, context, since)];
}

/** From when a rental whose machine cannot be reached is not billed. */
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

/** A pause is only ever moved to an earlier instant. */
function unlessPaused(
  { billingPausedAt }: ComparedRental,
  pause: Extract<Repair, { do: 'pause' }>,
): readonly Repair[] {
  return billingPausedAt !== null && billingPausedAt <= pause.at ? [] : [pause];
}

/** The engine has every machine, and each is on or off. */
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
 * A machine that was on is off. Its tenant may have switched it off from inside, and is billed on. If it happened while
 * nobody could see it, or in a window of maintenance, it was not the tenant: it is switched on again, and not billed
 * until then. Of an instance nobody can say who did it, its tenant or the owner of its host, and neither can be asked to
 * switch it on: so we do, and it costs nothing from when it was seen until it is on.
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
  // It was off when its engine fell silent, and that alone stopped its billing.
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
