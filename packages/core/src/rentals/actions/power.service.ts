import type { Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import { place, releaseAllocation, type PlacedNode } from '../../fleet/index.ts';
import { requireLedgerSuccess } from '../../ledger/index.ts';
import { HOLD_WINDOW_MS, holdFor } from '../../metering/index.ts';
import { initialHold } from '../../prices/index.ts';
import { checkRentalAction } from './termination.service.ts';
import { saveMachine } from '../model/machines.store.ts';
import { billDiskOnly, retainDisk, metersOf } from '../money/rental-billing.service.ts';
import { updateRentalAndEnqueue, transitionRental, emitRentalEvent } from '../model/rental-transitions.ts';
import { toPlacementRequest, machinePortsOf } from '../order/placement-request.ts';
import { attemptTimeoutMsOf, defaultRentalPolicy } from '../model/policy.ts';
import {
  billedRental,
  isReleasable,
  currentMachinesOf,
  type Rental,
  type RentalTask,
  type RentalTerm,
  type RentalView,
  type TaskOptions,
  rentalsActor,
} from '../model/rental.ts';
import { billingEndsAt, currentTerm, freesAt, isDiskMeter, onDemandPrice, nextTerm } from '../money/terms.ts';
import { insertTerm, saveTerm } from '../model/terms.store.ts';

/** Stores requested power tasks. Reconciling executes them at the engine and calls `finishStop` or `finishStart`. */

function requireNoTask(rental: Rental, action: 'start' | 'stop' | 'reboot'): void {
  checkRentalAction(rental, action);
  if (rental.task !== null) throw new Fault('ACTION_IN_PROGRESS');
}

function startTask(
  tx: Tx,
  rental: Rental,
  task: RentalTask,
  { options, actor }: { readonly options: TaskOptions; readonly actor: Actor },
): Promise<Rental> {
  return updateRentalAndEnqueue(
    tx,
    rental,
    {
      task,
      taskOptions: options,
      taskDeadlineAt: new Date(tx.clock.nowMs() + defaultRentalPolicy.powerMs),
      power: 'changing',
      statusReason: null,
    },
    actor,
  );
}

/** With `release` also releases the GPUs. Does nothing if the rental is already in that state. */
export async function stopRental(
  tx: Tx,
  { rental, terms }: RentalView,
  request: { readonly release: boolean; readonly actor: Actor; readonly because?: TaskOptions['because'] },
): Promise<Rental> {
  requireNoTask(rental, 'stop');
  const { release, because } = request;
  if (release) requireGpusReleasable(rental, terms);
  if (rental.power === 'off' && (!release || !rental.gpuHeld)) return rental;
  const options = { ...(release ? { release } : {}), ...(because === undefined ? {} : { because }) };
  return startTask(tx, rental, 'stop', { options, actor: request.actor });
}

function requireGpusReleasable(rental: Rental, terms: RentalView['terms']): void {
  if (currentTerm(terms).termType === 'reserved') {
    throw new Fault('RELEASE_NOT_SUPPORTED', {
      message:
        'You pay for a reserved term until it ends, so releasing its GPUs would save nothing. Stop the rental without release.',
    });
  }
  if (!isReleasable(rental)) throw new Fault('RELEASE_NOT_SUPPORTED');
}

/** A reboot must not switch on a machine that is off: the tenant uses start for that. */
export async function rebootRental(
  tx: Tx,
  { rental }: RentalView,
  request: { readonly force: boolean; readonly actor: Actor },
): Promise<Rental> {
  requireNoTask(rental, 'reboot');
  if (rental.power === 'off') throw new Fault('RENTAL_IS_OFF');
  const options = request.force ? { force: true } : {};
  return startTask(tx, rental, 'reboot', { options, actor: request.actor });
}

/**
 * Starts a rental. A released rental is placed again on the host that has its disk, with a hold for its next hold window, and
 * provisioned again; without free GPUs there it stays off. Locks: rental, then capacity. No transaction takes them in the other
 * order for the same rental.
 */
export async function startRental(
  tx: Tx,
  view: RentalView,
  request: { readonly actor: Actor },
): Promise<Rental> {
  const { rental } = view;
  requireNoTask(rental, 'start');
  if (rental.power === 'on') return rental;
  if (rental.gpuHeld) return startTask(tx, rental, 'start', { options: {}, actor: request.actor });
  return startReleased(tx, view, request.actor);
}

async function startReleased(tx: Tx, view: RentalView, actor: Actor): Promise<Rental> {
  const { rental } = view;
  const machines = currentMachinesOf(view);
  const [machine] = machines;
  if (machine === undefined || machines.length > 1) {
    throw new Error(
      `Rental ${rental.id} has released its GPUs and must have one machine, but has ${machines.length}.`,
    );
  }
  const { nodeId } = machine;
  const placement = await place(tx, toPlacementRequest(rental, { only: nodeId, freesAt: freesAt(view) }));
  const placed = placement.nodes.find((node): node is PlacedNode => node.nodeId === nodeId);
  if (placed === undefined) throw new Error(`Rental ${rental.id} was placed on another node than its disk.`);
  await saveMachine(tx, machine, {
    state: 'wanted',
    allocationId: placement.allocationId,
    gpuAddresses: placed.gpus.map(({ pciAddress }) => pciAddress),
    ports: machinePortsOf(rental, placed),
    tries: 0,
    nextTryAt: null,
    lastError: null,
  });
  const pending = await transitionRental(tx, rental, {
    to: 'Pending',
    reason: 'The rental is starting.',
    actor,
    changes: {
      task: 'provision',
      taskOptions: {},
      taskDeadlineAt: new Date(tx.clock.nowMs() + attemptTimeoutMsOf(rental)),
      firstAttempt: rental.attempt,
      power: 'changing',
      allocationId: placement.allocationId,
    },
    data: {},
  });
  await ensureUpcomingTerm(tx, { ...view, rental: pending });
  return pending;
}

/** Adds the term of the start with its first hold, or reuses the term of a failed start. */
async function ensureUpcomingTerm(tx: Tx, view: RentalView): Promise<void> {
  const { rental, terms } = view;
  const { orgId, id } = rental;
  const waiting = terms.find(({ effectiveAt }) => effectiveAt === null);
  const seq = (terms.at(-1)?.seq ?? 0) + 1;
  const term: RentalTerm = waiting ?? nextTerm('on-demand', onDemandPrice(terms), seq);
  if (waiting === undefined) await insertTerm(tx, orgId, rental, term);
  const amount = initialHold(term.price, HOLD_WINDOW_MS);
  if (amount === 0n) return;
  const request = { step: `start:${rental.transitions}`, amount, demand: 'new' } as const;
  const { holdId } = requireLedgerSuccess(await holdFor(tx, billedRental(rental), request));
  await saveTerm(tx, orgId, id, term.seq, { holdId });
}

const noTask = { task: null, taskOptions: {}, taskDeadlineAt: null } as const;

/** Called when the engine has started or rebooted the machine. */
export async function finishStart(tx: Tx, view: RentalView): Promise<Rental> {
  await clearStarting(tx, view);
  return updateRentalAndEnqueue(tx, view.rental, { ...noTask, power: 'on' }, rentalsActor);
}

/** A completed task of the engine ends the machine's first start. */
async function clearStarting(tx: Tx, view: RentalView): Promise<void> {
  for (const machine of currentMachinesOf(view)) {
    if (machine.starting) await saveMachine(tx, machine, { starting: false });
  }
}

/** Called when the engine has stopped the machine. Released GPUs can be sold again, and only the disk is billed. */
export async function finishStop(tx: Tx, view: RentalView): Promise<Rental> {
  const { rental } = view;
  const { release, because } = rental.taskOptions;
  await clearStarting(tx, view);
  if (release !== true) return updateRentalAndEnqueue(tx, rental, { ...noTask, power: 'off' }, rentalsActor);
  if (rental.allocationId !== null) await releaseAllocation(tx, rental.orgId, rental.allocationId);
  for (const machine of currentMachinesOf(view)) {
    await saveMachine(tx, machine, { allocationId: null, gpuAddresses: [], tries: 0, nextTryAt: null });
  }
  const isForMoney = because === 'balance' || because === 'budget';
  const off = await updateRentalAndEnqueue(
    tx,
    rental,
    {
      ...noTask,
      ...(isForMoney
        ? { taskOptions: { because }, statusReason: `Stopped because the ${because} ran out.` }
        : {}),
      power: 'off',
      gpuHeld: false,
      allocationId: null,
    },
    rentalsActor,
  );
  // After a failed start no other meter is open, and the disk is already billed.
  const meters = await metersOf(tx, off);
  if (meters.every((meter) => meter.state === 'closed' || isDiskMeter(meter))) return off;
  const at = billingEndsAt({ ...view, rental: off }, meters, tx.clock.now());
  if (!isForMoney) await billDiskOnly(tx, off, at);
  else await retainDiskAndNotify(tx, off, { at, cause: because });
  return off;
}

/** Retains the disk with held money only, and emits an event with the end of the retention. */
export async function retainDiskAndNotify(
  tx: Tx,
  rental: Rental,
  { at, cause }: { readonly at: Date; readonly cause: 'balance' | 'budget' },
): Promise<void> {
  const until = await retainDisk(tx, rental, at);
  await emitRentalEvent(tx, rental, {
    type: 'rental.expiring',
    actor: rentalsActor,
    data: { expiresAt: until.toISOString(), cause, next: 'terminate' },
  });
}
