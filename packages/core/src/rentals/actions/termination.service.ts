import { rentalStates, actionDecision } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { Fault } from '@millrace/platform/fault';
import type { OrgId, RentalId } from '@millrace/platform/ids';
import {
  addUsd,
  meteredTotal,
  nanoUsd,
  ppm,
  subtractUsd,
  toPercentage,
  zeroUsd,
  type NanoUsd,
} from '@millrace/platform/money';
import { markReleasing } from '../../fleet/index.ts';
import { owedAt, type Meter, type RemainingTermCharge } from '../../metering/index.ts';
import { closeMeters, releaseHolds, metersOf } from '../money/rental-billing.service.ts';
import { markMachinesTerminating } from '../model/machines.store.ts';
import { transitionRental } from '../model/rental-transitions.ts';
import { deletionLateMsOf } from '../model/policy.ts';
import type { Rental, RentalAction, RentalView } from '../model/rental.ts';
import { endRunningProvisioningStep } from '../model/provisioning-steps.store.ts';
import { billingEndsAt } from '../money/terms.ts';
import { lockView } from '../model/rental-view.ts';
import { detachVolumes } from '../model/rental-volumes.ts';

/** Terminates rentals and computes their receipt. */

export interface TerminationDetails {
  readonly actor: Actor;
  /** Stored with the rental: the tenant's text, or why the platform ended the rental. */
  readonly reason: string;
  /** Treatment of the remaining term. Waived only if the tenant did not choose the end. */
  readonly rest?: RemainingTermCharge;
  /** An end that was due before now: nothing is billed after it. */
  readonly promised?: Date;
}

/** Owed and refunded parts of a reserved term that ended early. */
export interface Commitment {
  readonly owed: NanoUsd;
  readonly refund: NanoUsd;
  readonly refundPercentage: number;
}

export interface Receipt {
  readonly rental: Rental;
  /** Null if billing never started. */
  readonly billingStoppedAt: Date | null;
  readonly finalCost: NanoUsd;
  readonly commitment: Commitment | null;
}

/** Absent and foreign rentals give the same fault. */
export async function lockRentalView(tx: Tx, orgId: OrgId, id: RentalId): Promise<RentalView> {
  const view = await lockView(tx, { orgId, id });
  if (view === null) throw new Fault('RENTAL_NOT_FOUND');
  return view;
}

/** Checks the action against the state table. Returns true if the action was already done. */
export function checkRentalAction(rental: Rental, action: RentalAction): boolean {
  const decision = actionDecision(rentalStates, action, rental.status);
  if (decision !== 'allowed' && decision !== 'repeat') throw new Fault(decision);
  return decision === 'repeat';
}

/**
 * Terminates a rental. Billing stops now, or at an earlier promised end. Holds of unstarted terms are released, and the remaining
 * term is owed as quoted. Reconciling disconnects and deletes the machines. Repeating the call returns the same receipt.
 */
export async function terminateRental(
  tx: Tx,
  orgId: OrgId,
  id: RentalId,
  request: TerminationDetails,
): Promise<Receipt> {
  const view = await lockRentalView(tx, orgId, id);
  if (checkRentalAction(view.rental, 'terminate')) {
    return receiptOf(view.rental, view.terms, await metersOf(tx, view.rental));
  }
  return terminateView(tx, view, request);
}

const REASON_MAX = 255;

/** For a locked view of a rental that may be terminated. */
export async function terminateView(tx: Tx, view: RentalView, request: TerminationDetails): Promise<Receipt> {
  const { orgId, id, allocationId } = view.rental;
  const now = tx.clock.now();
  const before = await metersOf(tx, view.rental);
  const at = billingEndsAt(view, before, request.promised ?? now);
  const reason = request.reason.slice(0, REASON_MAX);
  await endRunningProvisioningStep(tx, orgId, id, { status: 'undone' });
  const ending = await transitionRental(tx, view.rental, {
    to: 'Terminating',
    reason,
    actor: request.actor,
    changes: {
      task: 'release',
      taskOptions: {},
      taskDeadlineAt: new Date(now.getTime() + deletionLateMsOf(view.rental)),
      endAcceptedAt: at,
      endReason: reason,
    },
    data: { reason, billingStoppedAt: before.length === 0 ? null : at.toISOString() },
  });
  await markMachinesTerminating(tx, orgId, id, { now });
  await detachVolumes(tx, ending, request.actor);
  if (allocationId !== null) await markReleasing(tx, orgId, allocationId);
  await releaseHolds(tx, { ...view, rental: ending });
  const meters = await closeMeters(tx, ending, { at, rest: request.rest ?? 'owed' });
  return receiptOf(ending, view.terms, meters);
}

/** Computed from the closed meters alone, so it is the same at any time. */
export function receiptOf(rental: Rental, terms: RentalView['terms'], meters: readonly Meter[]): Receipt {
  const stops = meters.flatMap(({ closedAt }) => (closedAt === null ? [] : [closedAt.getTime()]));
  const at = stops.length === 0 ? null : new Date(Math.max(...stops));
  return {
    rental,
    billingStoppedAt: at,
    finalCost: addUsd(zeroUsd, ...meters.map((meter) => owedAt(meter, at ?? rental.createdAt))),
    commitment: commitmentOfTerms(terms, meters),
  };
}

function commitmentOfTerms(terms: RentalView['terms'], meters: readonly Meter[]): Commitment | null {
  for (const { price, meterName } of terms) {
    const meter = meters.find(({ name }) => name === meterName);
    if (price.reserve === null || meter === undefined) continue;
    const { termEndsAt, closedAt, elapsedBeforeMs, ratePerHour, restOfTerm } = meter;
    if (termEndsAt === null || closedAt === null || closedAt >= termEndsAt) continue;
    const restMs = termEndsAt.getTime() - closedAt.getTime();
    const rest = nanoUsd(
      meteredTotal(ratePerHour, elapsedBeforeMs + restMs) - meteredTotal(ratePerHour, elapsedBeforeMs),
    );
    return {
      owed: restOfTerm,
      refund: subtractUsd(rest, restOfTerm),
      refundPercentage: toPercentage(ppm(price.reserve.refundPpm)),
    };
  }
  return null;
}
