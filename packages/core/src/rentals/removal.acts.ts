import { addUsd } from '@millrace/platform/money';
import { counter } from '@millrace/platform/telemetry';
import { moveNode, releaseAllocation } from '../fleet/index.ts';
import { owedAt } from '../metering/index.ts';
import { askEngine, failureOf, rentalsActor, sameMachine, tryLater, type DriveParts } from './drive-parts.ts';
import { saveMachine } from './machines.store.ts';
import { metersOf } from './money.service.ts';
import { moveRental } from './move.ts';
import type { RentalMachine, RentalView } from './rental.ts';
import { endRunningStep } from './steps.store.ts';
import { costOnWire } from './wire-money.ts';
import { lockView } from './views.ts';

/** How machines go: access first, then the machine, and the GPUs only when the engine has said twice that it is gone. */

const cutLate = counter(
  'millrace_rentals_cut_late_total',
  'Ends after which access was cut later than promised',
);
const stuck = counter(
  'millrace_rentals_stuck_removals_total',
  'Removals that took so long that their node was quarantined',
);

/** What the engine is told to forget. Nothing the tenant could do with the machine is left when it resolves. */
export async function cutMachine(
  parts: DriveParts,
  view: RentalView,
  machine: RentalMachine,
  signal: AbortSignal,
): Promise<void> {
  const { rental } = view;
  try {
    const driver = await parts.drivers(machine.clusterId);
    const options = { what: 'Cutting access', timeoutMs: parts.policy.callTimeoutMs, signal };
    await askEngine(parts, rental, options, (end) => driver.cutAccess(machine, end));
  } catch (error) {
    return failedToRemove(parts, view, machine, error);
  }
  const cutAt = parts.clock.now();
  await parts.db.transaction({ name: 'note access cut', isolation: 'read committed' }, async (tx) => {
    await saveMachine(tx, machine, { cutAt, tries: 0, nextTryAt: null, lastError: null });
  });
  // From when the end was accepted, which may be later than the instant up to which is billed.
  const lateMs = cutAt.getTime() - (machine.doomedAt ?? cutAt).getTime();
  if (lateMs > parts.policy.cutWithinMs) {
    cutLate.add(1);
    parts.log.error({ rentalId: rental.id, lateMs }, 'access was cut later than promised');
  }
}

/** Deletes the machine, and once the engine has said twice that it is not there, gives its GPUs back. */
export async function removeMachine(
  parts: DriveParts,
  view: RentalView,
  machine: RentalMachine,
  signal: AbortSignal,
): Promise<void> {
  const { policy } = parts;
  const options = { what: 'Removing a machine', timeoutMs: policy.createTimeoutMs, signal };
  let isThere: boolean;
  try {
    const driver = await parts.drivers(machine.clusterId);
    isThere = await askEngine(parts, view.rental, options, async (end) => {
      if (machine.absentSeen === 0) await driver.terminate(machine, end);
      return (await driver.describe(machine, end)) !== null;
    });
  } catch (error) {
    return failedToRemove(parts, view, machine, error);
  }
  if (isThere) {
    return failedToRemove(parts, view, machine, new Error('The engine still has the machine.'), {
      seenAgain: true,
    });
  }
  await noteAbsence(parts, view, machine);
}

async function noteAbsence(parts: DriveParts, view: RentalView, machine: RentalMachine): Promise<void> {
  const { rental } = view;
  const now = parts.clock.now();
  if (machine.absentSeen === 0) {
    await parts.db.transaction({ name: 'note absence', isolation: 'read committed' }, async (tx) => {
      const nextTryAt = new Date(now.getTime() + parts.policy.absentGapMs);
      await saveMachine(tx, machine, { absentSeen: 1, tries: 0, nextTryAt, lastError: null });
    });
    return;
  }
  await parts.db.transaction({ name: 'free machine', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, rental);
    if (current === null || sameMachine(current, machine) === null) return;
    await saveMachine(tx, machine, { state: 'gone', absentSeen: 2, goneAt: now, nextTryAt: null });
    const { allocationId, externalId } = machine;
    if (allocationId === null) return;
    const others = current.machines.filter(
      (other) => other.allocationId === allocationId && other.externalId !== externalId,
    );
    if (others.length === 0) await releaseAllocation(tx, rental.orgId, allocationId);
  });
}

async function failedToRemove(
  parts: DriveParts,
  view: RentalView,
  machine: RentalMachine,
  error: unknown,
  options: { readonly seenAgain?: boolean } = {},
): Promise<void> {
  const { rental } = view;
  const failure = failureOf(error);
  const now = parts.clock.now();
  const doomedMs = machine.doomedAt === null ? 0 : now.getTime() - machine.doomedAt.getTime();
  parts.log.warn(
    { rentalId: rental.id, externalId: machine.externalId, err: error, tries: machine.tries },
    'a machine could not be removed yet',
  );
  if (options.seenAgain === true && machine.absentSeen > 0) {
    await parts.db.transaction({ name: 'machine is back', isolation: 'read committed' }, async (tx) => {
      await saveMachine(tx, machine, { absentSeen: 0 });
    });
  }
  if (doomedMs > parts.policy.releaseLateMs) await quarantine(parts, view, machine, failure.message);
  await tryLater(parts, machine, failure);
}

/** Whatever keeps the machine from going may keep the next one from coming: nothing new is put there. */
async function quarantine(
  parts: DriveParts,
  { rental }: RentalView,
  machine: RentalMachine,
  why: string,
): Promise<void> {
  const moved = await parts.db.transaction(
    { name: 'quarantine node', isolation: 'read committed' },
    async (tx) =>
      moveNode(tx, machine.nodeId, 'node_quarantined', {
        reason: `A machine of rental ${rental.wireId} cannot be removed: ${why}`,
        actor: rentalsActor,
      }),
  );
  if (moved.before.status === 'node_quarantined') return;
  stuck.add(1);
  parts.log.error(
    { rentalId: rental.id, nodeId: machine.nodeId, externalId: machine.externalId },
    'a machine cannot be removed; its node is quarantined',
  );
}

/** Nothing of it is left. */
export async function endRental(parts: DriveParts, view: RentalView): Promise<void> {
  await parts.db.transaction({ name: 'end rental', isolation: 'read committed' }, async (tx) => {
    const current = await lockView(tx, view.rental);
    if (current === null || current.machines.length > 0) return;
    const { rental } = current;
    if (rental.status !== 'Terminating' && rental.status !== 'Failed') return;
    const now = tx.clock.now();
    await endRunningStep(tx, rental.orgId, rental.id, { status: 'done' });
    const meters = await metersOf(tx, rental);
    const cost = addUsd(...meters.map((meter) => owedAt(meter, now)));
    await moveRental(tx, rental, {
      to: 'Terminated',
      reason: rental.statusReason,
      actor: rentalsActor,
      changes: {
        task: null,
        taskDeadlineAt: null,
        endedAt: now,
        allocationId: null,
        power: 'off',
        gpuHeld: false,
        userData: null,
      },
      data: { terminatedAt: (rental.endAcceptedAt ?? now).toISOString(), finalCost: costOnWire(cost) },
    });
  });
}
