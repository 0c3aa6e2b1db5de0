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
 * What a wallet that runs out asks of rentals: they are stopped and their GPUs given back, their disks are kept for as
 * long as was set aside for that, and deleted then. A suspension with its work asks for their end. An action is done when
 * its effect is there, not when it was begun: until then it is taken up again.
 */

/** Carries out what is due for rentals and instances. Answers how many were looked at. */
export function executeRequiredActions(db: Db, sweep: RequiredActionSweep): Promise<number> {
  const kinds = ['rental', 'instance'];
  return runRequiredActions(db, sweep, { kinds, loop: requiredActionsLoop, execute: executeRequiredAction });
}

/** True: nothing more is to be done. */
async function executeRequiredAction(tx: Tx, action: RequiredAction): Promise<boolean> {
  const { orgId, mode, cause } = action;
  const found = await findRentalByWireId(tx, orgId, mode, Number(cause.id));
  const view = found === null ? null : await lockView(tx, found);
  if (view === null || isEnding(view)) return true;
  if (action.reason === 'suspension') return terminateSuspended(tx, view);
  if (action.reason === 'balance' && (await hasRecovered(tx, action))) return true;
  const retained = retainedDiskMeter(await metersOf(tx, view.rental));
  // It ends by itself when what pays for its disk does.
  if (retained !== null) return true;
  const { reason } = action;
  return action.action === 'stop' ? stopForMoney(tx, view, reason) : terminateForMoney(tx, view, reason);
}

/**
 * All that an organisation rents, for whoever suspends it with its work. Each is ended by whoever sweeps next: an organisation may
 * have more than one transaction should hold.
 */
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

/** Its tenant did not choose that, so it owes nothing of a term that has not run out; of one that was lifted nothing ends. */
async function terminateSuspended(tx: Tx, view: RentalView): Promise<boolean> {
  const organisation = await findOrganisation(tx, view.rental.orgId);
  if (organisation?.status !== 'suspended') return true;
  const reason = 'Its organisation was suspended by the operator.';
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
    const changes = { taskOptions: { because }, statusReason: `Kept for want of ${because}.` };
    const changed = await updateRentalAndEnqueue(tx, rental, changes, rentalsActor);
    await retainDiskAndNotify(tx, changed, { at: tx.clock.now(), cause: because });
    return true;
  }
  try {
    await stopRental(tx, view, { release: true, because, actor: rentalsActor });
    return false;
  } catch (error) {
    if (!isFault(error) || error.reason !== 'RELEASE_NOT_SUPPORTED') throw error;
    // Its GPUs would be paid for on and on, and nothing pays for them.
    return terminateForMoney(tx, view, because);
  }
}

async function terminateForMoney(tx: Tx, view: RentalView, because: StopReason): Promise<boolean> {
  // Where there is money left that does not pay for it, that may be a budget or promotional credit.
  const what =
    because === 'budget' && view.rental.supplier !== null
      ? 'budget, or the balance without promotional credit,'
      : because;
  const reason = `The ${what} does not cover it any longer.`;
  await terminateView(tx, view, { actor: rentalsActor, reason });
  return true;
}
