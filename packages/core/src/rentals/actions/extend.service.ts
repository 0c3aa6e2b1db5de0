import type { ApiKeyLimits } from '@millrace/contract';
import type { Tx } from '@millrace/platform/db';
import type { Actor } from '@millrace/platform/envelope';
import { Fault, invalidField, isFault } from '@millrace/platform/fault';
import { addUsd, formatUsd, ppm, secondsToMs, toPercentage, zeroUsd } from '@millrace/platform/money';
import { readBalance, requireLedgerSuccess } from '../../ledger/index.ts';
import { costIfEndedAt, HOLD_WINDOW_MS, holdFor } from '../../metering/index.ts';
import { commitmentOf, quoteFor, termMsOf, type Quote, type RentalSpec } from '../../prices/index.ts';
import { checkRentalAction } from './termination.service.ts';
import { metersOf, updateFreesAt } from '../money/rental-billing.service.ts';
import { updateRentalAndEnqueue } from '../model/rental-transitions.ts';
import { billedRental, type Rental, type RentalTerm, type RentalView } from '../model/rental.ts';
import { currentTerm, reservationEndsAt, nextTerm } from '../money/terms.ts';
import { insertTerm } from '../model/terms.store.ts';
import { requireTtlWithinKeyLimit } from './rental-changes.ts';

/** Extends a rental by another reserved term or by a later TTL. */

export interface ExtendOptions {
  readonly actor: Actor;
  readonly limits: Pick<ApiKeyLimits, 'maxRentalSeconds'>;
}

/** Fails if the rental has no TTL or its TTL has expired. */
export async function extendTtl(
  tx: Tx,
  view: RentalView,
  ttlSeconds: number,
  { actor, limits }: ExtendOptions,
): Promise<Rental> {
  const { rental } = view;
  checkRentalAction(rental, 'extend');
  if (rental.expiresAt === null || rental.expiresAt <= tx.clock.now()) throw new Fault('TERM_NOT_EXTENDABLE');
  const expiresAt = new Date(rental.expiresAt.getTime() + secondsToMs(ttlSeconds));
  requireWithinMaxTerm(tx, 'ttlSeconds', expiresAt);
  requireTtlWithinKeyLimit(rental, expiresAt, limits);
  const extended = await updateRentalAndEnqueue(tx, rental, { expiresAt }, actor);
  await updateFreesAt(tx, { ...view, rental: extended });
  return extended;
}

/** Adds a term at the current price after the last one, and holds its whole price. */
export async function extendTerm(
  tx: Tx,
  view: RentalView,
  termPeriodDays: number,
  { actor, limits }: ExtendOptions,
): Promise<Rental> {
  const { rental, terms } = view;
  checkRentalAction(rental, 'extend');
  const current = currentTerm(terms);
  const isOver = current.endsAt !== null && current.endsAt <= tx.clock.now();
  if (current.termType !== 'reserved' || isOver) throw new Fault('TERM_NOT_EXTENDABLE');
  const end = endWithExtension(view, termPeriodDays);
  requireWithinMaxTerm(tx, 'termPeriodDays', end);
  requireTtlWithinKeyLimit(rental, end, limits);
  const { frozen, hold } = await quoteTerm(tx, rental, current, termPeriodDays);
  const price = frozen.rental;
  await requireWithinLimit(tx, view, commitmentOf(price));
  const seq = (terms.at(-1)?.seq ?? 0) + 1;
  const term = nextTerm('reserved', price, seq);
  const extended = await updateRentalAndEnqueue(tx, rental, {}, actor);
  await updateFreesAt(tx, { ...view, rental: extended, terms: [...terms, term] });
  const request = { step: `extend:${seq}`, amount: hold, demand: 'new' } as const;
  const held =
    hold === zeroUsd ? null : requireLedgerSuccess(await holdFor(tx, billedRental(extended), request));
  await insertTerm(tx, rental.orgId, rental, { ...term, holdId: held?.holdId ?? null });
  return extended;
}

/** The maximum term of one order also limits the sum of all extensions. */
const MAX_TERM_DAYS = 3_650;

function requireWithinMaxTerm(tx: Tx, field: string, end: Date): void {
  if (end.getTime() - tx.clock.nowMs() <= termMsOf(MAX_TERM_DAYS)) return;
  throw invalidField(field, `must not move the end beyond ${MAX_TERM_DAYS} days from now`, 'too_big');
}

/** An estimate while Pending, because terms start with Running. */
function endWithExtension({ rental, terms }: RentalView, termPeriodDays: number): Date {
  const known = reservationEndsAt(terms);
  const days = terms.reduce((sum, { price }) => sum + (price.reserve?.termPeriodDays ?? 0), 0);
  const startMs = known?.getTime() ?? rental.createdAt.getTime() + termMsOf(days);
  return new Date(startMs + termMsOf(termPeriodDays));
}

/** Claims the discount of the current term again, or none if the tenant is no longer entitled to it. */
async function quoteTerm(tx: Tx, rental: Rental, current: RentalTerm, termDays: number): Promise<Quote> {
  const now = tx.clock.now();
  const { available } = await readBalance(tx, rental.orgId, rental.mode, now);
  const quoteWith = (discountPercentage: number): Promise<Quote> =>
    quoteFor(tx, rental.orgId, rental.mode, {
      spec: {
        rentalType: rental.kind === 'bare-metal' ? 'bare-metal' : 'virtual-machine',
        gpuCount: rental.gpuCount,
        // The current term was sold with these values, so they are valid.
        gpuType: rental.gpuType as RentalSpec['gpuType'],
        region: rental.region as RentalSpec['region'],
        networkType: rental.connectionType,
        termType: 'reserved',
        termPeriodDays: termDays,
        discountPercentage,
      },
      available,
      // Only the runway depends on the burn rate, and it is not shown here.
      burn: { burnPerHour: zeroUsd, cover: zeroUsd },
      holdWindowMs: HOLD_WINDOW_MS,
      now,
    });
  try {
    return await quoteWith(toPercentage(ppm(current.price.discountPpm)));
  } catch (error) {
    if (isFault(error) && error.reason === 'DISCOUNT_NOT_ENTITLED') return quoteWith(0);
    throw error;
  }
}

async function requireWithinLimit(tx: Tx, view: RentalView, more: Quote['hold']): Promise<void> {
  const { maxNanoUsd } = view.rental;
  if (maxNanoUsd === null) return;
  const waiting = view.terms.filter(({ effectiveAt }) => effectiveAt === null);
  const known = addUsd(
    costIfEndedAt(await metersOf(tx, view.rental), tx.clock.now()),
    ...waiting.map(({ price }) => commitmentOf(price)),
    more,
  );
  if (known <= maxNanoUsd) return;
  throw new Fault('MAX_USD_EXCEEDED', {
    message: `With this term the rental would cost ${formatUsd(known)} USD, more than its maxUsd of ${formatUsd(maxNanoUsd)}. Raise maxUsd first.`,
  });
}
