import type { Reader, Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import type { NodeId, OrgId, RentalId } from '@millrace/platform/ids';
import { markReleasing, noteNodeFaults, windowsBetween, type NodeAway } from '../fleet/index.ts';
import { changeMeters, type Meter } from '../metering/index.ts';
import { doomMachines, saveMachine } from './machines.store.ts';
import { failRental, metersOf } from './money.service.ts';
import { changeRental, moveRental } from './move.ts';
import { defaultPolicy } from './policy.ts';
import {
  isOlder,
  judge,
  judgedOf,
  lastGoodSign,
  type JudgedRental,
  type Repair,
  type Scene,
  type SeenMachine,
  type Sight,
  type Subject,
} from './reconcile.ts';
import { machinesOf, type Rental, type RentalMachine, type RentalView } from './rental.ts';
import { saveRental } from './rentals.store.ts';
import { isNewest, type Comparison } from './sightings.store.ts';
import { lockView } from './views.ts';
import { sharesAddress, tellVolumes } from './volume-hooks.ts';

/** What a comparison leads to, each rental in one transaction: judged once more under its lock, then done or not at all. */

export const reconcilerActor: Actor = { kind: 'system', id: 'reconciler' };

/** What was seen of the machines of a rental's attempt, by position. */
export interface Sighting {
  readonly orgId: OrgId;
  readonly rentalId: RentalId;
  readonly attempt: number;
  readonly sights: ReadonlyMap<number, Sight>;
}

/** `overtaken`: a newer comparison has begun, or the rental was changed, and what this one saw counts no more. */
export async function repairRental(
  tx: Tx,
  comparison: Comparison,
  sighting: Sighting,
  scene: Scene,
): Promise<readonly Repair[] | 'overtaken'> {
  if (!(await isNewest(tx, comparison))) return 'overtaken';
  const view = await lockView(tx, { orgId: sighting.orgId, id: sighting.rentalId });
  const machines = view === null ? null : seenMachines(view, sighting);
  if (view === null || machines === null) return [];
  const rental = judgedOf(view.rental);
  if (isOlder(scene, rental)) return 'overtaken';
  const nodeIds = machinesOf(view).map(({ nodeId }) => nodeId);
  const [windows = []] = await windowsFor(tx, scene, [{ rental, nodeIds }]);
  const repairs = judge({ rental, machines, windows }, scene);
  let current = view;
  for (const repair of repairs) current = await carryOut(tx, current, repair);
  return repairs;
}

/** Null: it is not a rental that is compared, or not the one that was seen. */
function seenMachines(view: RentalView, sighting: Sighting): readonly SeenMachine[] | null {
  const { rental } = view;
  const machines = machinesOf(view);
  if (rental.status !== 'Running' && rental.status !== 'Unknown') return null;
  if (rental.attempt !== sighting.attempt || machines.length === 0) return null;
  const seen = machines.flatMap(({ position, absentSeen, state }) => {
    const sight = sighting.sights.get(position);
    return sight === undefined || state !== 'open' ? [] : [{ position, absentSeen, sight }];
  });
  return seen.length === machines.length ? seen : null;
}

/** The maintenance of each rental's nodes since its last good sign, in the order of their begin; one query for all. */
export async function windowsFor(
  reader: Reader,
  scene: Scene,
  asked: readonly { readonly rental: JudgedRental; readonly nodeIds: readonly NodeId[] }[],
): Promise<readonly Subject['windows'][]> {
  const { now } = scene;
  const signs = asked.map(({ rental }) => lastGoodSign(rental, scene));
  const from = new Date(Math.min(now.getTime(), ...signs.map(Number)));
  const nodeIds = [...new Set(asked.flatMap((one) => one.nodeIds))];
  const byNode = Map.groupBy(
    await windowsBetween(reader, nodeIds, { from, to: now }),
    ({ nodeId }) => nodeId,
  );
  return asked.map((one, index) => {
    const since = signs[index] ?? now;
    return one.nodeIds
      .flatMap((nodeId): readonly NodeAway[] => byNode.get(nodeId) ?? [])
      .filter(({ endsAt }) => endsAt > since)
      .toSorted((left, right) => left.startsAt.getTime() - right.startsAt.getTime());
  });
}

async function carryOut(tx: Tx, view: RentalView, repair: Repair): Promise<RentalView> {
  const { rental } = view;
  const withRental = (next: Rental): RentalView => ({ ...view, rental: next });
  switch (repair.do) {
    case 'note':
      await countAbsence(tx, view, repair.missing);
      return withRental(await saveRental(tx, rental, { troubleSince: repair.since }));
    case 'clear':
      await countAbsence(tx, view, []);
      return withRental(await saveRental(tx, rental, { troubleSince: null }));
    case 'unknown': {
      const reason = `Its host has not answered since ${repair.since.toISOString()}.`;
      return withRental(await becomeUnknown(tx, rental, { since: repair.since, reason }));
    }
    case 'back':
      await countAbsence(tx, view, []);
      return withRental(await comeBack(tx, rental));
    case 'pause':
      await stopBilling(tx, rental, repair.at);
      return withRental(await saveRental(tx, rental, { billingPausedAt: repair.at }));
    case 'resume':
      await resumeBilling(tx, rental);
      return withRental(await saveRental(tx, rental, { billingPausedAt: null }));
    case 'fail': {
      const loss = { at: repair.at, why: losses[repair.because], actor: reconcilerActor };
      return withRental(await loseRental(tx, view, loss));
    }
    case 'power':
      return withRental(await saveRental(tx, rental, { power: repair.to, updatedAt: tx.clock.now() }));
    case 'start':
      return withRental(await switchBack(tx, rental, 'start'));
    case 'stop':
      return withRental(await switchBack(tx, rental, 'stop'));
  }
}

/** How often the engine has said in a row that it has none: one more for these, nothing any more for the others. */
async function countAbsence(tx: Tx, view: RentalView, missing: readonly number[]): Promise<void> {
  for (const machine of machinesOf(view)) {
    const absentSeen = missing.includes(machine.position) ? 1 : 0;
    if (absentSeen !== machine.absentSeen) await saveMachine(tx, machine, { absentSeen });
  }
}

function becomeUnknown(
  tx: Tx,
  rental: Rental,
  { since, reason }: { readonly since: Date; readonly reason: string },
): Promise<Rental> {
  return moveRental(tx, rental, {
    to: 'Unknown',
    reason,
    actor: reconcilerActor,
    changes: { troubleSince: since },
    data: { silentSince: since.toISOString() },
  });
}

function comeBack(tx: Tx, rental: Rental): Promise<Rental> {
  if (rental.startedAt === null) throw new Error(`Rental ${rental.id} never ran, so it cannot be back.`);
  return moveRental(tx, rental, {
    to: 'Running',
    reason: null,
    actor: reconcilerActor,
    changes: { troubleSince: null },
    data: { startedAt: rental.startedAt.toISOString() },
  });
}

const losses = {
  vanished: 'Its machine is gone: its host says that it has none.',
  host_lost: 'Its host has not answered for too long and counts as lost.',
} as const;

/** Its machine is lost, and nothing after `at` is paid for. No rental fails that was not Unknown first. */
export async function loseRental(
  tx: Tx,
  view: RentalView,
  { at, why, actor }: { readonly at: Date; readonly why: string; readonly actor: Actor },
): Promise<Rental> {
  const isUnknown = view.rental.status === 'Unknown';
  const rental = isUnknown ? view.rental : await becomeUnknown(tx, view.rental, { since: at, reason: why });
  const hosts = machinesOf(view).map(({ nodeId }) => nodeId);
  await noteNodeFaults(tx, hosts, { kind: 'loss', rentalId: rental.id, reason: why });
  await doomMachines(tx, rental.orgId, rental.id, { now: tx.clock.now() });
  if (rental.allocationId !== null) await markReleasing(tx, rental.orgId, rental.allocationId);
  return failRental(tx, { ...view, rental }, why, { actor, lastGoodSign: at });
}

/** The one who works on the rental does it, as if it had been asked for. */
function switchBack(tx: Tx, rental: Rental, task: 'start' | 'stop'): Promise<Rental> {
  const taskDeadlineAt = new Date(tx.clock.nowMs() + defaultPolicy.powerMs);
  // Why it was stopped decides how long its disk is kept.
  const taskOptions = task === 'stop' ? { ...rental.taskOptions, release: true } : {};
  return changeRental(tx, rental, { task, taskOptions, taskDeadlineAt, power: 'changing' }, reconcilerActor);
}

/** Nothing after `at` is paid for. What was paused later is paused anew, so that the time between is given back. */
async function stopBilling(tx: Tx, rental: Rental, at: Date): Promise<void> {
  const meters = (await metersOf(tx, rental)).filter(({ state }) => state !== 'closed');
  await changeAll(tx, rental, 'resume', tx.clock.now(), meters);
  await changeAll(tx, rental, 'pause', at, meters);
}

/** A term that began meanwhile has a meter of its own, which nobody has paused. */
async function resumeBilling(tx: Tx, rental: Rental): Promise<void> {
  const meters = (await metersOf(tx, rental)).filter(({ state }) => state !== 'closed');
  if (rental.billingPausedAt !== null) await changeAll(tx, rental, 'pause', rental.billingPausedAt, meters);
  await changeAll(tx, rental, 'resume', tx.clock.now(), meters);
}

/** The address of a machine that was sold before its engine knew it. */
export interface FoundAddress {
  readonly orgId: OrgId;
  readonly rentalId: RentalId;
  readonly externalId: string;
  readonly privateIp: string;
}

/** The tenant is shown where its other machines reach this one. */
export async function noteAddress(tx: Tx, found: FoundAddress): Promise<void> {
  const view = await lockView(tx, { orgId: found.orgId, id: found.rentalId });
  const machine = view?.machines.find(({ externalId }) => externalId === found.externalId);
  if (view === null || machine?.state !== 'open' || machine.privateIp !== null) return;
  await saveAddress(tx, view.rental, machine, found.privateIp);
}

/** An address that another machine holds is not written, so that the next comparison tries again. */
export async function saveAddress(
  tx: Tx,
  rental: Rental,
  machine: RentalMachine,
  privateIp: string,
): Promise<void> {
  await saveMachine(tx, machine, { privateIp });
  if (await sharesAddress(tx, rental, machine)) await saveMachine(tx, machine, { privateIp: null });
  else await tellVolumes(tx, rental);
}

/** Those that are in the state already stay as they are. */
async function changeAll(
  tx: Tx,
  rental: Rental,
  act: 'pause' | 'resume',
  at: Date,
  meters: readonly Meter[],
): Promise<void> {
  await changeMeters(
    tx,
    rental.orgId,
    meters.map((meter) => ({ do: act, meterId: meter.id, at })),
  );
}
