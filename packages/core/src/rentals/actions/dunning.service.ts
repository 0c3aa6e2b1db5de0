import type { Db, Tx } from '@millrace/platform/db';
import { isFault } from '@millrace/platform/fault';
import { findOrganisation, type RunningWorkloads } from '../../identity/index.ts';
import {
  cancelSuspensionActions,
  hasRecovered,
  requireTerminations,
  runRequiredActions,
  type RequiredAction,
  type RequiredActionSweep,
} from '../../metering/index.ts';
import { terminateView } from './termination.service.ts';
import { requiredActionsLoop } from '../model/loops.ts';
import { metersOf } from '../money/rental-billing.service.ts';
import { updateRentalAndEnqueue } from '../model/rental-transitions.ts';
import { retainDiskAndNotify, stopRental } from './power.service.ts';
import { causeOfRental, type RentalView, rentalsActor } from '../model/rental.ts';
import { findRentalByWireId, listUnterminated } from '../model/rentals.store.ts';
import { retainedDiskMeter } from '../money/terms.ts';
import { lockView } from '../model/rental-view.ts';

/**
 * Executes required actions on rentals: stop and release when money runs out, with a retained disk; terminate on suspension. An
 * action is finished when its effect is complete; until then it is retried.
 */

/** Returns the number of required actions that were processed. */
export function executeRequiredActions(db: Db, sweep: RequiredActionSweep): Promise<number> {
  const kinds = ['rental', 'instance'];
  return runRequiredActions(db, sweep, { kinds, loop: requiredActionsLoop, execute: executeRequiredAction });
}

/** Returns true when the action is finished. */
async function executeRequiredAction(tx: Tx, action: RequiredAction): Promise<boolean> {
  const { orgId, mode, cause } = action;
  const found = await findRentalByWireId(tx, orgId, mode, Number(cause.id));
  const view = found === null ? null : await lockView(tx, found);
  if (view === null || isEnding(view)) return true;
  if (action.reason === 'suspension') return terminateSuspended(tx, view);
  if (action.reason === 'balance' && (await hasRecovered(tx, action))) return true;
  const retained = retainedDiskMeter(await metersOf(tx, view.rental));
  // The due action at the end of the retention terminates the rental.
  if (retained !== null) return true;
  const { reason } = action;
  return action.action === 'stop' ? stopForMoney(tx, view, reason) : terminateForMoney(tx, view, reason);
}

/** Marks all rentals of a suspended organisation. A sweep terminates them, because one transaction could not hold them all. */
export const runningWork: RunningWorkloads = {
  end: async (tx, orgId) => {
    const alive = await listUnterminated(tx, orgId);
    return requireTerminations(
      tx,
      orgId,
      alive.map((rental) => ({ mode: rental.mode, cause: causeOfRental(rental) })),
    );
  },
  callOff: cancelSuspensionActions,
};

/** Waives the remaining term, because the tenant did not choose to end it. Does nothing if the suspension was lifted. */
async function terminateSuspended(tx: Tx, view: RentalView): Promise<boolean> {
  const organisation = await findOrganisation(tx, view.rental.orgId);
  if (organisation?.status !== 'suspended') return true;
  const reason = 'The operator suspended the organisation.';
  await terminateView(tx, view, { actor: rentalsActor, reason, rest: 'waived' });
  return true;
}

const isEnding = ({ rental: { status } }: RentalView): boolean =>
  status === 'Failed' || status === 'Terminating' || status === 'Terminated';

type StopReason = Exclude<RequiredAction['reason'], 'suspension'>;

async function stopForMoney(tx: Tx, view: RentalView, because: StopReason): Promise<boolean> {
  const { rental } = view;
  const isOff = rental.power === 'off' && !rental.gpuHeld;
  if (rental.status !== 'Running' || rental.task !== null) return false;
  if (isOff) {
    const changes = {
      taskOptions: { because },
      statusReason: `The ${because} ran out. The disk is kept for a limited time and then deleted, unless the cost is covered again.`,
    };
    const changed = await updateRentalAndEnqueue(tx, rental, changes, rentalsActor);
    await retainDiskAndNotify(tx, changed, { at: tx.clock.now(), cause: because });
    return true;
  }
  try {
    await stopRental(tx, view, { release: true, because, actor: rentalsActor });
    return false;
  } catch (error) {
    if (!isFault(error) || error.reason !== 'RELEASE_NOT_SUPPORTED') throw error;
    // Without a release the GPUs would keep costing money that the tenant does not have.
    return terminateForMoney(tx, view, because);
  }
}

async function terminateForMoney(tx: Tx, view: RentalView, because: StopReason): Promise<boolean> {
  // A supplier's instance cannot be paid with promotional credit, so the balance can be positive but unusable.
  const what =
    because === 'budget' && view.rental.supplier !== null
      ? 'budget, or the balance without promotional credit,'
      : because;
  const reason = `The ${what} no longer covers the cost.`;
  await terminateView(tx, view, { actor: rentalsActor, reason });
  return true;
}
