import { limitReachedAt, type Meter } from '../../metering/index.ts';
import { priceAfterTerm, termMsOf, type FrozenPrice } from '../../prices/index.ts';
import type { RentalTerm, RentalWithTerms } from '../model/rental.ts';

/** What a rental is paid by, until when, and what follows. Pure: the same rows give the same answers. */

/** The term that counts: the last that has begun, or the first as long as none has. */
export function currentTerm(terms: readonly RentalTerm[]): RentalTerm {
  const term = terms.findLast(({ effectiveAt }) => effectiveAt !== null) ?? terms[0];
  if (term === undefined) throw new Error('A rental has at least one term.');
  return term;
}

/** Extensions that were paid for and have not begun. */
function extensionsOf(terms: readonly RentalTerm[]): readonly RentalTerm[] {
  const { seq } = currentTerm(terms);
  return terms.filter((term) => term.seq > seq && term.effectiveAt === null && term.price.reserve !== null);
}

/** The committed end of the term that counts; null on demand, and before the machine was proven usable. */
export function reservedUntil(terms: readonly RentalTerm[]): Date | null {
  return currentTerm(terms).endsAt;
}

/** The end after all extensions. */
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

/** What becomes of the rental at the end of the term that counts. */
export function actionAfterCurrentTerm(view: RentalWithTerms): AfterTermAction {
  if (extensionsOf(view.terms).length > 0) return 'extend';
  return view.rental.convertOnExpiry ? 'convert' : 'terminate';
}

/** What the rental costs when it goes on after its terms: the price on demand that was frozen when it was made. */
export function onDemandPrice(terms: readonly RentalTerm[]): FrozenPrice {
  const first = terms.find(({ price }) => price.reserve !== null);
  return first === undefined ? currentTerm(terms).price : priceAfterTerm(first.price);
}

/** A term that has not begun. */
export function nextTerm(termType: RentalTerm['termType'], price: FrozenPrice, seq = 1): RentalTerm {
  return { seq, termType, price, holdId: null, meterName: `gpu-${seq}`, effectiveAt: null, endsAt: null };
}

/** When it is known that its GPUs come free; null: it is not. */
export function freesAt(view: RentalWithTerms): Date | null {
  const end = view.rental.convertOnExpiry ? null : reservationEndsAt(view.terms);
  const { expiresAt } = view.rental;
  if (end === null || expiresAt === null) return end ?? expiresAt;
  return end < expiresAt ? end : expiresAt;
}

/** The disk of a rental that was stopped for want of money: paid for until the end of its retention, and deleted then. */
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

/** A rental is billed until it is ended, and not past an end that it was promised. */
export function billingEndsAt(view: RentalWithTerms, meters: readonly Meter[], now: Date): Date {
  const { rental } = view;
  const ends = [rental.expiresAt, limitReachedAt(meters, rental.maxNanoUsd)];
  if (actionAfterCurrentTerm(view) === 'terminate') ends.push(reservedUntil(view.terms));
  return new Date(Math.min(now.getTime(), ...ends.flatMap((end) => (end === null ? [] : [end.getTime()]))));
}
