import { limitReachedAt, type Meter } from '../../metering/index.ts';
import { priceAfterTerm, termMsOf, type FrozenPrice } from '../../prices/index.ts';
import type { RentalTerm, RentalWithTerms } from '../model/rental.ts';

/** Computes from the terms of a rental which one applies, until when, and what follows. Pure. */

/** The last started term, or the first if none has started. */
export function currentTerm(terms: readonly RentalTerm[]): RentalTerm {
  const term = terms.findLast(({ effectiveAt }) => effectiveAt !== null) ?? terms[0];
  if (term === undefined) throw new Error('A rental must have at least one term.');
  return term;
}

/** Paid extensions that have not started. */
function extensionsOf(terms: readonly RentalTerm[]): readonly RentalTerm[] {
  const { seq } = currentTerm(terms);
  return terms.filter((term) => term.seq > seq && term.effectiveAt === null && term.price.reserve !== null);
}

/** Null on demand, and before the machine has passed its readiness check. */
export function reservedUntil(terms: readonly RentalTerm[]): Date | null {
  return currentTerm(terms).endsAt;
}

/** The end including all extensions. */
export function reservationEndsAt(terms: readonly RentalTerm[]): Date | null {
  const until = reservedUntil(terms);
  if (until === null) return null;
  const extendedMs = extensionsOf(terms).reduce(
    (sum, { price }) => sum + termMsOf(price.reserve?.termPeriodDays ?? 0),
    0,
  );
  return new Date(until.getTime() + extendedMs);
}

export type AfterTermAction = 'extend' | 'convert' | 'terminate';

export function actionAfterCurrentTerm(view: RentalWithTerms): AfterTermAction {
  if (extensionsOf(view.terms).length > 0) return 'extend';
  return view.rental.convertOnExpiry ? 'convert' : 'terminate';
}

/** The price after reserved terms: the on-demand price that was frozen at creation. */
export function onDemandPrice(terms: readonly RentalTerm[]): FrozenPrice {
  const first = terms.find(({ price }) => price.reserve !== null);
  return first === undefined ? currentTerm(terms).price : priceAfterTerm(first.price);
}

export function nextTerm(termType: RentalTerm['termType'], price: FrozenPrice, seq = 1): RentalTerm {
  return { seq, termType, price, holdId: null, meterName: `gpu-${seq}`, effectiveAt: null, endsAt: null };
}

/** When the rental's GPUs are known to become free; null if unknown. */
export function freesAt(view: RentalWithTerms): Date | null {
  const end = view.rental.convertOnExpiry ? null : reservationEndsAt(view.terms);
  const { expiresAt } = view.rental;
  if (end === null || expiresAt === null) return end ?? expiresAt;
  return end < expiresAt ? end : expiresAt;
}

/** Meter of a disk that is retained because money ran out, and deleted at the end of its retention. */
export function retainedDiskMeter(meters: readonly Meter[]): (Meter & { readonly termEndsAt: Date }) | null {
  const retained = meters.find(
    (meter) => isDiskMeter(meter) && meter.state !== 'closed' && meter.funding === 'committed',
  );
  return retained?.termEndsAt == null ? null : { ...retained, termEndsAt: retained.termEndsAt };
}

export function isDiskMeter(meter: Pick<Meter, 'name'>): boolean {
  return meter.name.startsWith(DISK_PREFIX);
}

export const DISK_PREFIX = 'disk-';

/** A rental is billed until its termination, and not past TTL, spending limit or the end of a terminating term. */
export function billingEndsAt(view: RentalWithTerms, meters: readonly Meter[], now: Date): Date {
  const { rental } = view;
  const ends = [rental.expiresAt, limitReachedAt(meters, rental.maxNanoUsd)];
  if (actionAfterCurrentTerm(view) === 'terminate') ends.push(reservedUntil(view.terms));
  return new Date(Math.min(now.getTime(), ...ends.flatMap((end) => (end === null ? [] : [end.getTime()]))));
}
