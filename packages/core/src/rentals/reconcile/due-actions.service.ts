import { inSavepoint, type Db, type Reader, type Tx } from '@millrace/platform/db';
import { Fault, isFault } from '@millrace/platform/fault';
import type { RentalId } from '@millrace/platform/ids';
import { formatUsd, meteredTotal, toNearestUsdNumber } from '@millrace/platform/money';
import {
  missingFundsOf,
  InsufficientFundsError,
  readBalance,
  readLeasedCredit,
  retryWithRecalledCredit,
} from '../../ledger/index.ts';
import { defaultMeteringPolicy as metering, HOLD_WINDOW_MS } from '../../metering/index.ts';
import { rateOf, type FrozenPrice } from '../../prices/index.ts';
import type { ReconcileDeps } from './reconcile-deps.ts';
import { nextDueAction, type DueAction, type TerminationCause } from '../money/due-actions.ts';
import { terminateView } from '../actions/termination.service.ts';
import {
  startNextTerm,
  closeMeters,
  resumeDiskBilling,
  requiredBalance,
  metersOf,
} from '../money/rental-billing.service.ts';
import { updateRentalAndEnqueue, emitRentalEvent } from '../model/rental-transitions.ts';
import { type Rental, type RentalView, rentalsActor } from '../model/rental.ts';
import { onDemandPrice, nextTerm } from '../money/terms.ts';
import { insertTerm } from '../model/terms.store.ts';
import { lockView } from '../model/rental-view.ts';

/** Executes due actions of rentals, each in one transaction and once even if called repeatedly. */

export type { DueAction } from '../money/due-actions.ts';

export async function readDueAction(reader: Reader, view: RentalView, now: Date): Promise<DueAction | null> {
  return nextDueAction(view, await metersOf(reader, view.rental), now);
}

const terminationReasons: Readonly<Record<TerminationCause, string>> = {
  term: 'The reserved term ended.',
  ttl: 'The TTL expired.',
  cap: 'The spending limit (maxUsd) was reached.',
};

/** If money is missing: terminate the rental, or roll back and throw the ledger's fault. */
type WhenUnfunded = 'end' | 'refuse';

type DueDeps = Pick<ReconcileDeps, 'db' | 'policy' | 'recallMoney' | 'unfundedSince'>;

/** Executes the due action if it is still due. Returns when to retry if money may still be recalled from inference, else null. */
export async function runDueAction(deps: DueDeps, seen: RentalView, due: DueAction): Promise<Date | null> {
  const { rental } = seen;
  const { recallMoney } = deps;
  if (due.what === 'convert' && recallMoney !== undefined && rental.mode === 'live') {
    try {
      await retryWithRecalledCredit(rental, recallMoney, () => tryDueAction(deps.db, seen, due, 'refuse'));
      deps.unfundedSince.delete(rental.id);
      return null;
    } catch (error) {
      if (missingFundsOf(error) === null) throw error;
      const again = await nextRecallAt(deps, seen);
      if (again !== null) return again;
    }
  }
  await tryDueAction(deps.db, seen, due, 'end');
  deps.unfundedSince.delete(rental.id);
  return null;
}

function tryDueAction(db: Db, seen: RentalView, due: DueAction, without: WhenUnfunded): Promise<void> {
  return db.transaction({ name: 'carry out due', isolation: 'read committed' }, async (tx) => {
    const view = await lockView(tx, seen.rental);
    if (view === null) return;
    const now = tx.clock.now();
    const current = await readDueAction(tx, view, now);
    if (current === null || current.at > now || current.what !== due.what) return;
    await applyDue(tx, view, current, without);
  });
}

/**
 * When to retry the recall. Null if the leased credit does not even cover the shortest hold, or if the time for recalls is over.
 * That time starts with the first try of this process, not with the end of the term: after an outage or a restore, credit may
 * still be returning.
 */
async function nextRecallAt(
  { db, policy, unfundedSince }: DueDeps,
  { rental, terms }: RentalView,
): Promise<Date | null> {
  const nowMs = db.clock.nowMs();
  const sinceMs = unfundedSince.get(rental.id) ?? nowMs;
  deleteOldEntries(unfundedSince, nowMs);
  unfundedSince.set(rental.id, sinceMs);
  const untilMs = Math.min(sinceMs + policy.recallForMs, rental.expiresAt?.getTime() ?? Infinity);
  if (nowMs >= untilMs) return null;
  const granted = await readLeasedCredit(db, rental.orgId, rental.mode);
  const { available } = await readBalance(db, rental.orgId, rental.mode, db.clock.now());
  const rate = rateOf(onDemandPrice(terms));
  const shortest = meteredTotal(rate, HOLD_WINDOW_MS) - meteredTotal(rate, metering.postEveryMs);
  if (granted === 0n || available + granted < shortest) return null;
  return new Date(Math.min(untilMs, nowMs + policy.recallRetryMs));
}

const ENTRY_MAX_AGE_MS = 24 * 3_600_000;

/** Another worker may have completed the conversion. */
function deleteOldEntries(unfundedSince: Map<RentalId, number>, nowMs: number): void {
  for (const [id, sinceMs] of unfundedSince) {
    if (nowMs - sinceMs > ENTRY_MAX_AGE_MS) unfundedSince.delete(id);
  }
}

async function applyDue(tx: Tx, view: RentalView, due: DueAction, without: WhenUnfunded): Promise<void> {
  switch (due.what) {
    case 'notice':
      return emitExpiryNotice(tx, view, due);
    case 'extend':
      return startExtension(tx, view, due.at);
    case 'convert':
      return convertToOnDemand(tx, view, due.at, without);
    case 'retention':
      return endDiskRetention(tx, view);
    case 'terminate':
      await terminateView(tx, view, { actor: rentalsActor, reason: terminationReasons[due.because] });
  }
}

/** If money has come in since the stop, the disk is kept and no notice is needed. */
async function emitExpiryNotice(
  tx: Tx,
  view: RentalView,
  due: DueAction & { readonly what: 'notice' },
): Promise<void> {
  const { at, cause, next } = due.end;
  const isAboutMoney = cause === 'balance' || cause === 'budget';
  if (isAboutMoney && (await resumeDiskBilling(tx, view))) return;
  const { rental } = view;
  const notified = await updateRentalAndEnqueue(tx, rental, { expiryNotifiedAt: due.at }, rentalsActor);
  await emitRentalEvent(tx, notified, {
    type: 'rental.expiring',
    actor: rentalsActor,
    data: { expiresAt: at.toISOString(), cause, next },
  });
}

/** The prepaid term starts at the end of the last one, even if this runs late. */
async function startExtension(tx: Tx, view: RentalView, at: Date): Promise<void> {
  const rental = await updateRentalAndEnqueue(tx, view.rental, {}, rentalsActor);
  await closeMeters(tx, rental, { at, rest: 'waived' });
  await startNextTerm(tx, { ...view, rental }, at);
}

/** Continues the rental on demand from the end of its term, or terminates it there if the balance is insufficient. */
async function convertToOnDemand(tx: Tx, view: RentalView, at: Date, without: WhenUnfunded): Promise<void> {
  const { rental, terms } = view;
  const seq = (terms.at(-1)?.seq ?? 0) + 1;
  const price = onDemandPrice(terms);
  const term = nextTerm('on-demand', price, seq);
  try {
    // On a refusal the savepoint releases the ledger's locks: the termination below takes locks that come before them.
    await inSavepoint(tx, async () => {
      await insertTerm(tx, rental.orgId, rental, term);
      await closeMeters(tx, rental, { at, rest: 'waived' });
      await startNextTerm(tx, { ...view, terms: [...terms, term] }, at);
    });
  } catch (error) {
    if (!isFault(error)) throw error;
    const missing = missingFundsOf(error);
    if (without === 'refuse' && missing !== null) throw await unfundedFault(tx, rental, price, missing);
    const perHour = formatUsd(rateOf(price));
    const reason = `The reserved term ended, and the balance does not cover the on-demand price of ${perHour} USD per hour.`;
    await terminateView(tx, view, { actor: rentalsActor, reason, promised: at });
    return;
  }
  const converted = await updateRentalAndEnqueue(tx, rental, {}, rentalsActor);
  await emitRentalEvent(tx, converted, {
    type: 'rental.converted',
    actor: rentalsActor,
    data: { costPerHour: toNearestUsdNumber(rateOf(price)) },
  });
}

/**
 * Requests the longest hold that a meter may need, because the hold depends on the meter's id, which is new in each attempt.
 * Includes the retention of the disk, which the meter holds only when it opens.
 */
async function unfundedFault(tx: Tx, rental: Rental, price: FrozenPrice, missing: bigint): Promise<Fault> {
  const { available } = await readBalance(tx, rental.orgId, rental.mode, tx.clock.now());
  const most = requiredBalance(rental, price) - available;
  return new Fault('INSUFFICIENT_BALANCE', {
    cause: new InsufficientFundsError(missing > most ? missing : most),
  });
}

/** Keeps the disk if the balance allows it, else terminates the rental. */
async function endDiskRetention(tx: Tx, view: RentalView): Promise<void> {
  if (await resumeDiskBilling(tx, view)) {
    await updateRentalAndEnqueue(tx, view.rental, {}, rentalsActor);
    return;
  }
  const why = view.rental.taskOptions.because === 'budget' ? 'budget' : 'balance';
  await terminateView(tx, view, {
    actor: rentalsActor,
    reason: `The ${why} ran out, and the retention of the disk has ended.`,
  });
}
