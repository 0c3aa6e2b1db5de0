import type { Db, Reader, Tx } from '@millrace/platform/db';
import { isFault } from '@millrace/platform/fault';
import { formatUsd, toNearestUsdNumber } from '@millrace/platform/money';
import { rateOf } from '../prices/index.ts';
import { rentalsActor } from './drive-parts.ts';
import { nextDue, type Due, type EndCause } from './due.ts';
import { endView } from './life.service.ts';
import { beginNextTerm, closeMeters, keepPaying, metersOf } from './money.service.ts';
import { changeRental, tellOfRental } from './move.ts';
import type { RentalView } from './rental.ts';
import { onDemandPrice, onDemandTerm } from './terms.ts';
import { insertTerm } from './terms.store.ts';
import { lockView } from './views.ts';

/** What the clock asks of rentals, carried out: each in one transaction, and once however often it is asked for. */

export type { Due } from './due.ts';

/** The next thing that its terms, its time to live or its limits ask for. */
export async function dueOf(reader: Reader, view: RentalView, now: Date): Promise<Due | null> {
  return nextDue(view, await metersOf(reader, view.rental), now);
}

const reasons: Readonly<Record<EndCause, string>> = {
  term: 'Its reserved term ended.',
  ttl: 'Its time to live ended.',
  cap: 'It reached the most it may cost.',
};

/** Carries out what was due when the view was read, if that still is what is due now. */
export async function carryOutDue(db: Db, seen: RentalView, due: Due): Promise<void> {
  await db.transaction({ name: 'carry out due', isolation: 'read committed' }, async (tx) => {
    const view = await lockView(tx, seen.rental);
    if (view === null) return;
    const now = tx.clock.now();
    const current = await dueOf(tx, view, now);
    if (current === null || current.at > now || current.what !== due.what) return;
    await carryOut(tx, view, current);
  });
}

async function carryOut(tx: Tx, view: RentalView, due: Due): Promise<void> {
  switch (due.what) {
    case 'notice':
      return tellEnd(tx, view, due);
    case 'extend':
      return extend(tx, view, due.at);
    case 'convert':
      return convert(tx, view, due.at);
    case 'retention':
      return endRetention(tx, view);
    case 'terminate':
      await endView(tx, view, { actor: rentalsActor, reason: reasons[due.because] });
  }
}

/** Money may have come in since the rental was stopped: then it is kept, and there is nothing to tell. */
async function tellEnd(tx: Tx, view: RentalView, due: Due & { readonly what: 'notice' }): Promise<void> {
  const { at, cause, next } = due.end;
  const isAboutMoney = cause === 'balance' || cause === 'budget';
  if (isAboutMoney && (await keepPaying(tx, view))) return;
  const { rental } = view;
  const told = await changeRental(tx, rental, { toldExpiringAt: due.at }, rentalsActor);
  await tellOfRental(tx, told, {
    type: 'rental.expiring',
    actor: rentalsActor,
    data: { expiresAt: at.toISOString(), cause, next },
  });
}

/** The term that was paid for in advance begins where the last one ended, however late anyone looks. */
async function extend(tx: Tx, view: RentalView, at: Date): Promise<void> {
  const rental = await changeRental(tx, view.rental, {}, rentalsActor);
  await closeMeters(tx, rental, { at, rest: 'waived' });
  await beginNextTerm(tx, { ...view, rental }, at);
}

/** The rental goes on, on demand, from the end of its term. Without the money for it, it ends there. */
async function convert(tx: Tx, view: RentalView, at: Date): Promise<void> {
  const { rental, terms } = view;
  const seq = (terms.at(-1)?.seq ?? 0) + 1;
  const price = onDemandPrice(terms);
  const term = onDemandTerm(seq, price);
  await insertTerm(tx, rental.orgId, rental, term);
  await closeMeters(tx, rental, { at, rest: 'waived' });
  try {
    await beginNextTerm(tx, { ...view, terms: [...terms, term] }, at);
  } catch (error) {
    if (!isFault(error)) throw error;
    const perHour = formatUsd(rateOf(price));
    const reason = `Its reserved term ended, and the balance does not cover going on for ${perHour} USD an hour.`;
    await endView(tx, view, { actor: rentalsActor, reason, promised: at });
    return;
  }
  const converted = await changeRental(tx, rental, {}, rentalsActor);
  await tellOfRental(tx, converted, {
    type: 'rental.converted',
    actor: rentalsActor,
    data: { costPerHour: toNearestUsdNumber(rateOf(price)) },
  });
}

/** What was set aside for its disk is used up: with money it is kept on, without it the rental ends. */
async function endRetention(tx: Tx, view: RentalView): Promise<void> {
  if (await keepPaying(tx, view)) {
    await changeRental(tx, view.rental, {}, rentalsActor);
    return;
  }
  const why = view.rental.taskOptions.because === 'budget' ? 'budget' : 'balance';
  await endView(tx, view, {
    actor: rentalsActor,
    reason: `The ${why} did not cover it, and the time for which its disk was kept has ended.`,
  });
}
