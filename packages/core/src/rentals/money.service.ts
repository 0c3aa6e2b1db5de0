import type { Reader, Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { applyLedger, requireDone } from '../ledger/index.ts';
import {
  changeMeters,
  listMetersOf,
  openMeters,
  type Meter,
  type MeterWish,
  type RestOfTerm,
} from '../metering/index.ts';
import { rateOf, termMsOf } from '../prices/index.ts';
import { ppm } from '@millrace/platform/money';
import { saveMachine } from './machines.store.ts';
import { moveRental } from './move.ts';
import { defaultPolicy } from './policy.ts';
import { causeOfRental, machinesOf, type Rental, type RentalTerm, type RentalView } from './rental.ts';
import { saveTerm } from './terms.store.ts';

/**
 * What a rental costs: its meters and its holds, changed in the transaction in which the rental itself changes. The
 * lock of the rental is held; the ledger's locks come last.
 */

const rentalsActor: Actor = { kind: 'system', id: 'rentals' };

/** All that was ever metered of a rental, oldest first. */
export function metersOf(reader: Reader, rental: Rental): Promise<readonly Meter[]> {
  return listMetersOf(reader, rental.orgId, rental.mode, causeOfRental(rental));
}

/** Ends whatever is still metered, and answers all meters as they are then. */
export async function closeMeters(
  tx: Tx,
  rental: Rental,
  end: { readonly at: Date; readonly rest: RestOfTerm },
): Promise<readonly Meter[]> {
  const meters = await metersOf(tx, rental);
  const open = meters.filter((meter) => meter.state !== 'closed');
  if (open.length === 0) return meters;
  const closed = await changeMeters(
    tx,
    rental.orgId,
    open.map((meter) => ({ do: 'close', meterId: meter.id, ...end })),
  );
  return meters.map((meter) => closed.find(({ id }) => id === meter.id) ?? meter);
}

/** Gives back what was set aside for terms that never began. */
export async function giveBackHolds(tx: Tx, view: RentalView): Promise<void> {
  const { rental } = view;
  const waiting = view.terms.flatMap(({ seq, holdId }) => (holdId === null ? [] : [{ seq, holdId }]));
  const results = await applyLedger(
    tx,
    waiting.map(({ seq, holdId }) => ({
      do: 'close',
      orgId: rental.orgId,
      mode: rental.mode,
      cause: causeOfRental(rental),
      step: `term:${seq}:${holdId}:back`,
      holdId,
    })),
  );
  for (const result of results) requireDone(result);
  for (const { seq } of waiting) await saveTerm(tx, rental.orgId, rental.id, seq, { holdId: null });
}

function termWish(rental: Rental, term: RentalTerm, at: Date): MeterWish {
  const { price } = term;
  return {
    mode: rental.mode,
    cause: causeOfRental(rental),
    name: term.meterName,
    product: rental.kind === 'instance' ? 'instance' : 'rental',
    ratePerHour: rateOf(price),
    quantity: price.quantity,
    unit: 'gpu',
    funding:
      price.reserve === null
        ? { kind: 'ahead' }
        : {
            kind: 'committed',
            termEndsAt: new Date(at.getTime() + termMsOf(price.reserve.termPeriodDays)),
            refund: ppm(price.reserve.refundPpm),
          },
    ...(rental.keyId === null ? {} : { keyId: rental.keyId }),
    ...(term.holdId === null ? {} : { holdId: term.holdId }),
    at,
  };
}

/**
 * From `at` on the rental costs what its next term says: the first one, or the one that a start after a release brought.
 * The disk of a machine that was off until now is part of that and costs nothing by itself any more.
 */
export async function openBilling(tx: Tx, view: RentalView, at: Date): Promise<void> {
  const { rental } = view;
  await closeMeters(tx, rental, { at, rest: 'waived' });
  await beginNextTerm(tx, view, at);
}

/** The meter of the first term that has not begun takes over what was set aside for it. */
export async function beginNextTerm(tx: Tx, view: RentalView, at: Date): Promise<void> {
  const { rental } = view;
  const term = view.terms.find(({ effectiveAt }) => effectiveAt === null);
  if (term === undefined) throw new Error(`Rental ${rental.id} has no term that could begin.`);
  const [meter] = await openMeters(tx, rental.orgId, [termWish(rental, term, at)]);
  await saveTerm(tx, rental.orgId, rental.id, term.seq, {
    effectiveAt: at,
    endsAt: meter?.termEndsAt ?? null,
    holdId: null,
  });
}

/**
 * The rental could not be delivered, or its host is lost: what was set aside is given back, and nothing after the last
 * good sign is paid for. Whoever calls has its machines removed.
 */
export async function failRental(
  tx: Tx,
  view: RentalView,
  why: string,
  options: { readonly actor?: Actor; readonly lastGoodSign?: Date } = {},
): Promise<Rental> {
  const now = tx.clock.now();
  const failed = await moveRental(tx, view.rental, {
    to: 'Failed',
    reason: why,
    actor: options.actor ?? rentalsActor,
    changes: {
      task: 'release',
      taskOptions: {},
      taskDeadlineAt: new Date(now.getTime() + defaultPolicy.releaseLateMs),
      endReason: 'failed',
    },
    data: { reason: why },
  });
  await giveBackHolds(tx, { ...view, rental: failed });
  await closeMeters(tx, failed, { at: options.lastGoodSign ?? now, rest: 'waived' });
  return failed;
}

/**
 * A rental that had given its GPUs back could not be started again. It keeps its disk and is as it was before: off, with
 * the GPUs that were taken for it on their way back.
 */
export async function failStart(tx: Tx, view: RentalView, why: string): Promise<void> {
  const { rental } = view;
  if (rental.startedAt === null) throw new Error(`Rental ${rental.id} never ran, so it failed altogether.`);
  for (const machine of machinesOf(view)) {
    await saveMachine(tx, machine, { state: 'open', proofKey: null, tries: 0, nextTryAt: null });
  }
  const off = await moveRental(tx, rental, {
    to: 'Running',
    reason: `It could not be started and stays off: ${why}`,
    actor: rentalsActor,
    changes: {
      task: 'stop',
      taskOptions: { release: true },
      taskDeadlineAt: new Date(tx.clock.nowMs() + defaultPolicy.powerMs),
      power: 'changing',
    },
    data: { startedAt: rental.startedAt.toISOString(), power: 'off' },
  });
  await giveBackHolds(tx, { ...view, rental: off });
}
