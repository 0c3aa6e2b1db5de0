import { addUsd, affordableMs, nanoUsd, zeroUsd, type NanoUsd } from '@millrace/platform/money';
import { costAt, type Meter } from '../../metering/index.ts';
import { priceAfterTerm, termMsOf, type FrozenPrice } from '../../prices/index.ts';
import type { Rental, RentalTerm, RentalView } from '../model/rental.ts';

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
export function actionAfterCurrentTerm(view: Pick<RentalView, 'rental' | 'terms'>): AfterTermAction {
  if (extensionsOf(view.terms).length > 0) return 'extend';
  return view.rental.convertOnExpiry ? 'convert' : 'terminate';
}

/** What the rental costs when it goes on after its terms: the price on demand that was frozen when it was made. */
export function onDemandPrice(terms: readonly RentalTerm[]): FrozenPrice {
  const first = terms.find(({ price }) => price.reserve !== null);
  return first === undefined ? currentTerm(terms).price : priceAfterTerm(first.price);
}

/** A term that is paid as it runs. */
export function onDemandTerm(seq: number, price: FrozenPrice): RentalTerm {
  return {
    seq,
    termType: 'on-demand',
    price,
    holdId: null,
    meterName: `gpu-${seq}`,
    effectiveAt: null,
    endsAt: null,
  };
}

/** When it is known that its GPUs come free; null: it is not. */
export function freesAt(view: Pick<RentalView, 'rental' | 'terms'>): Date | null {
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

/** What ending the rental at `at` would leave it at. The whole of a term counts from its start: it is owed. */
export function costIfEndedAt(meters: readonly Meter[], at: Date): NanoUsd {
  return addUsd(zeroUsd, ...meters.map((meter) => costAt(meter, meter.termEndsAt ?? at)));
}

/**
 * The last millisecond at which the rental has not cost more than its limit; null: it has none, or nothing runs that
 * could reach it. A rental that is ended later is billed until then.
 */
export function spendingLimitReachedAt(
  rental: Pick<Rental, 'maxNanoUsd'>,
  meters: readonly Meter[],
): Date | null {
  const { maxNanoUsd: cap } = rental;
  const running = meters.filter((meter) => meter.runningSince !== null && meter.termEndsAt === null);
  const perHour = addUsd(zeroUsd, ...running.map(({ ratePerHour }) => ratePerHour));
  if (cap === null || perHour === 0n) return null;
  const startMs = Math.max(...running.map(({ runningSince }) => runningSince?.getTime() ?? 0));
  const isWithin = (ms: number): boolean => costIfEndedAt(meters, new Date(startMs + ms)) <= cap;
  if (!isWithin(0)) return new Date(startMs);
  // Each meter is rounded down by itself, so together they can be that many nano-USD below their sum.
  const left = nanoUsd(cap - costIfEndedAt(meters, new Date(startMs)) + BigInt(running.length));
  let within = 0;
  let beyond = Math.min(Number(affordableMs(left, perHour) ?? 0n) + 1, LAST_INSTANT_MS - startMs);
  while (beyond - within > 1) {
    const middle = within + Math.trunc((beyond - within) * HALF);
    if (isWithin(middle)) within = middle;
    else beyond = middle;
  }
  return new Date(startMs + within);
}

const HALF = 0.5;
const LAST_INSTANT_MS = Date.UTC(9999, 11, 31);

/** A rental is billed until it is ended, and not past an end that it was promised. */
export function billingEndsAt(
  view: Pick<RentalView, 'rental' | 'terms'>,
  meters: readonly Meter[],
  now: Date,
): Date {
  const { rental } = view;
  const ends = [rental.expiresAt, spendingLimitReachedAt(rental, meters)];
  if (actionAfterCurrentTerm(view) === 'terminate') ends.push(reservedUntil(view.terms));
  return new Date(Math.min(now.getTime(), ...ends.flatMap((end) => (end === null ? [] : [end.getTime()]))));
}
