import type { Reader, Tx } from '@millrace/platform/db';
import type { NodeId, OrgId, RentalId } from '@millrace/platform/ids';
import { windowsBetween, type NodeMaintenancePeriod } from '../../fleet/index.ts';
import { changeMeters, type Meter } from '../../metering/index.ts';
import { saveMachine } from '../model/machines.store.ts';
import { metersOf } from '../money/rental-billing.service.ts';
import { updateRentalAndEnqueue, transitionRental } from '../model/rental-transitions.ts';
import { defaultRentalPolicy } from '../model/policy.ts';
import {
  isObservedBeforeChange,
  planRepairs,
  toComparedRental,
  lastHealthyAt,
  type ComparedRental,
  type Repair,
  type ComparisonContext,
  type ObservedMachine,
  type ObservedState,
  type ObservedRental,
} from './plan-repairs.ts';
import { currentMachinesOf, type Rental, type RentalView } from '../model/rental.ts';
import { saveRental } from '../model/rentals.store.ts';
import { isNewestComparison, type Comparison } from './comparisons.store.ts';
import { lockView } from '../model/rental-view.ts';
import { savePrivateAddress } from '../model/rental-volumes.ts';
import { failLostRental, markUnknown, reconcilerActor } from '../reconcile/lost-rental.ts';

/** Repairs one rental in one transaction: plans again under the rental's lock, then applies all repairs or none. */

/** The observed machines of a rental's attempt, by position. */
export interface RentalObservation {
  readonly orgId: OrgId;
  readonly rentalId: RentalId;
  readonly attempt: number;
  readonly sights: ReadonlyMap<number, ObservedState>;
}

/** `overtaken`: a newer comparison has started or the rental has changed, so this observation is outdated. */
export async function repairRental(
  tx: Tx,
  comparison: Comparison,
  sighting: RentalObservation,
  context: ComparisonContext,
): Promise<readonly Repair[] | 'overtaken'> {
  if (!(await isNewestComparison(tx, comparison))) return 'overtaken';
  const view = await lockView(tx, { orgId: sighting.orgId, id: sighting.rentalId });
  const machines = view === null ? null : observedMachines(view, sighting);
  if (view === null || machines === null) return [];
  const rental = toComparedRental(view.rental);
  if (isObservedBeforeChange(context, rental)) return 'overtaken';
  const nodeIds = currentMachinesOf(view).map(({ nodeId }) => nodeId);
  const [windows = []] = await maintenanceWindowsFor(tx, context, [{ rental, nodeIds }]);
  const repairs = planRepairs({ rental, machines, windows }, context);
  let current = view;
  for (const repair of repairs) current = await applyRepair(tx, current, repair);
  return repairs;
}

/** Null if the rental is not compared, or is not the one that was observed. */
function observedMachines(view: RentalView, sighting: RentalObservation): readonly ObservedMachine[] | null {
  const { rental } = view;
  const machines = currentMachinesOf(view);
  if (rental.status !== 'Running' && rental.status !== 'Unknown') return null;
  if (rental.attempt !== sighting.attempt || machines.length === 0) return null;
  const seen = machines.flatMap(({ position, absentSeen, state }) => {
    const observed = sighting.sights.get(position);
    return observed === undefined || state !== 'open' ? [] : [{ position, absentSeen, observed: observed }];
  });
  return seen.length === machines.length ? seen : null;
}

/** Maintenance windows of each rental's nodes since its last healthy time, ordered by start. One query for all rentals. */
export async function maintenanceWindowsFor(
  reader: Reader,
  context: ComparisonContext,
  rentals: readonly { readonly rental: ComparedRental; readonly nodeIds: readonly NodeId[] }[],
): Promise<readonly ObservedRental['windows'][]> {
  const { now } = context;
  const signs = rentals.map(({ rental }) => lastHealthyAt(rental, context));
  const from = new Date(Math.min(now.getTime(), ...signs.map(Number)));
  const nodeIds = [...new Set(rentals.flatMap((one) => one.nodeIds))];
  const byNode = Map.groupBy(
    await windowsBetween(reader, nodeIds, { from, to: now }),
    ({ nodeId }) => nodeId,
  );
  return rentals.map((one, index) => {
    const since = signs[index] ?? now;
    return one.nodeIds
      .flatMap((nodeId): readonly NodeMaintenancePeriod[] => byNode.get(nodeId) ?? [])
      .filter(({ endsAt }) => endsAt > since)
      .toSorted((left, right) => left.startsAt.getTime() - right.startsAt.getTime());
  });
}

async function applyRepair(tx: Tx, view: RentalView, repair: Repair): Promise<RentalView> {
  const { rental } = view;
  const withRental = (next: Rental): RentalView => ({ ...view, rental: next });
  switch (repair.do) {
    case 'note':
      await recordAbsence(tx, view, repair.missing);
      return withRental(await saveRental(tx, rental, { unhealthySince: repair.since }));
    case 'clear':
      await recordAbsence(tx, view, []);
      return withRental(await saveRental(tx, rental, { unhealthySince: null }));
    case 'unknown': {
      const reason = `The host has not responded since ${repair.since.toISOString()}.`;
      return withRental(await markUnknown(tx, rental, { since: repair.since, reason }));
    }
    case 'back':
      await recordAbsence(tx, view, []);
      return withRental(await markRunningAgain(tx, rental));
    case 'pause':
      await pauseBilling(tx, rental, repair.at);
      return withRental(await saveRental(tx, rental, { billingPausedAt: repair.at }));
    case 'resume':
      await resumeBilling(tx, rental);
      return withRental(await saveRental(tx, rental, { billingPausedAt: null }));
    case 'fail': {
      const loss = { at: repair.at, why: lossReasons[repair.because], actor: reconcilerActor };
      return withRental(await failLostRental(tx, view, loss));
    }
    case 'power':
      return withRental(await saveRental(tx, rental, { power: repair.to, updatedAt: tx.clock.now() }));
    case 'start':
      return withRental(await requestPowerTask(tx, rental, 'start'));
    case 'stop':
      return withRental(await requestPowerTask(tx, rental, 'stop'));
  }
}

/** Sets the count of consecutive reports of absence: one for missing machines, zero for the others. */
async function recordAbsence(tx: Tx, view: RentalView, missing: readonly number[]): Promise<void> {
  for (const machine of currentMachinesOf(view)) {
    const absentSeen = missing.includes(machine.position) ? 1 : 0;
    if (absentSeen !== machine.absentSeen) await saveMachine(tx, machine, { absentSeen });
  }
}

function markRunningAgain(tx: Tx, rental: Rental): Promise<Rental> {
  if (rental.startedAt === null)
    throw new Error(`Rental ${rental.id} never ran and cannot be Running again.`);
  return transitionRental(tx, rental, {
    to: 'Running',
    reason: null,
    actor: reconcilerActor,
    changes: { unhealthySince: null },
    data: { startedAt: rental.startedAt.toISOString() },
  });
}

const lossReasons = {
  vanished: 'The machine is lost: its host reports that it does not exist.',
  host_lost: 'The host has not responded for too long and counts as lost.',
} as const;

/** Reconciling executes the task, as if a tenant had requested it. */
function requestPowerTask(tx: Tx, rental: Rental, task: 'start' | 'stop'): Promise<Rental> {
  const taskDeadlineAt = new Date(tx.clock.nowMs() + defaultRentalPolicy.powerMs);
  // The cause of a stop decides how long the disk is retained.
  const taskOptions = task === 'stop' ? { ...rental.taskOptions, release: true } : {};
  return updateRentalAndEnqueue(
    tx,
    rental,
    { task, taskOptions, taskDeadlineAt, power: 'changing' },
    reconcilerActor,
  );
}

/** Charges nothing after `at`. Meters with a later pause are resumed and paused again, so that the time between is credited. */
async function pauseBilling(tx: Tx, rental: Rental, at: Date): Promise<void> {
  const meters = (await metersOf(tx, rental)).filter(({ state }) => state !== 'closed');
  await changeAllMeters(tx, rental, 'resume', tx.clock.now(), meters);
  await changeAllMeters(tx, rental, 'pause', at, meters);
}

/** A term that started during the pause has its own meter, which is not paused yet. */
async function resumeBilling(tx: Tx, rental: Rental): Promise<void> {
  const meters = (await metersOf(tx, rental)).filter(({ state }) => state !== 'closed');
  if (rental.billingPausedAt !== null)
    await changeAllMeters(tx, rental, 'pause', rental.billingPausedAt, meters);
  await changeAllMeters(tx, rental, 'resume', tx.clock.now(), meters);
}

/** The address of a machine whose engine did not know it at the hand-over. */
export interface FoundAddress {
  readonly orgId: OrgId;
  readonly rentalId: RentalId;
  readonly externalId: string;
  readonly privateIp: string;
}

/** Shown to the tenant, whose other machines use this address. */
export async function recordAddress(tx: Tx, found: FoundAddress): Promise<void> {
  const view = await lockView(tx, { orgId: found.orgId, id: found.rentalId });
  const machine = view?.machines.find(({ externalId }) => externalId === found.externalId);
  if (view === null || machine?.state !== 'open' || machine.privateIp !== null) return;
  await savePrivateAddress(tx, view.rental, machine, found.privateIp);
}

/** Meters that are already in the state stay unchanged. */
async function changeAllMeters(
  tx: Tx,
  rental: Rental,
  change: 'pause' | 'resume',
  at: Date,
  meters: readonly Meter[],
): Promise<void> {
  await changeMeters(
    tx,
    rental.orgId,
    meters.map((meter) => ({ do: change, meterId: meter.id, at })),
  );
}
