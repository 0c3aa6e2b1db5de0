import type { Mode } from '@millrace/platform/envelope';
import { toUuid, type HoldId, type KeyId, type MeterId, type OrgId } from '@millrace/platform/ids';
import {
  addUsd,
  affordableMs,
  hourlyCharge,
  meteredTotal,
  nanoUsd,
  negateUsd,
  roundExact,
  shareOf,
  divideWithRemainder,
  subtractUsd,
  zeroUsd,
  type NanoUsd,
  type Ppm,
} from '@millrace/platform/money';
import type { MoneyCause, Product, Share } from '../ledger/index.ts';
import type { MeteringPolicy } from './policy.ts';

/** Pure functions for the time, cost, hold and schedule of a meter, from its row and a time. */

export type MeterState = 'open' | 'paused' | 'closed';

/** `ahead` holds the next interval and renews it; `committed` holds a whole term from the start. */
export type Funding = 'ahead' | 'committed';

export interface SupplierShare {
  readonly orgId: OrgId;
  readonly ratePerHour: NanoUsd;
  readonly posted: NanoUsd;
}

export interface MeterCostInput {
  readonly ratePerHour: NanoUsd;
  readonly runningSince: Date | null;
  readonly elapsedBeforeMs: number;
  readonly termEndsAt: Date | null;
  /** The metered time that `posted` covers. */
  readonly postedMs: number;
  readonly posted: NanoUsd;
  /** The part of `posted` that the operator absorbed. */
  readonly shortfall: NanoUsd;
  /** The charge for the remaining term after an early end. */
  readonly restOfTerm: NanoUsd;
}

export interface Meter extends MeterCostInput {
  readonly id: MeterId;
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly cause: MoneyCause;
  readonly name: string;
  readonly product: Product;
  readonly keyId: KeyId | null;
  readonly quantity: number;
  readonly unit: string;
  readonly supplier: SupplierShare | null;
  readonly funding: Funding;
  readonly refund: Ppm;
  readonly retentionMs: number;
  /** The hourly cost of retention after a stop: the meter's rate, or that of the disk alone. */
  readonly retentionRatePerHour: NanoUsd;
  readonly state: MeterState;
  readonly holdId: HoldId | null;
  readonly held: NanoUsd;
  readonly coveredUntil: Date | null;
  readonly nextPostAt: Date | null;
  readonly postings: number;
  readonly transitions: number;
  readonly openedAt: Date;
  readonly closedAt: Date | null;
}

export interface MeterTransition {
  readonly kind: 'opened' | 'paused' | 'resumed' | 'closed';
  readonly at: Date;
}

/** A meter does not run past the end of its term, however late the end is noticed. */
function clampToTerm(meter: Pick<Meter, 'termEndsAt'>, at: Date): number {
  return Math.min(at.getTime(), meter.termEndsAt?.getTime() ?? Infinity);
}

/** Elapsed time from the row alone. If the clock is behind the start, the running interval counts as zero. */
export function elapsedAt(
  meter: Pick<Meter, 'runningSince' | 'elapsedBeforeMs' | 'termEndsAt'>,
  at: Date,
): number {
  if (meter.runningSince === null) return meter.elapsedBeforeMs;
  return meter.elapsedBeforeMs + Math.max(0, clampToTerm(meter, at) - meter.runningSince.getTime());
}

/**
 * A running interval ends at the earliest time of any later pause or close, so that a close at the last healthy time
 * also removes time before a pause that was recorded meanwhile.
 */
export function elapsedByTransitions(
  meter: Pick<Meter, 'termEndsAt'>,
  transitions: readonly MeterTransition[],
  at: Date,
): number {
  let elapsedMs = 0;
  let endsMs = clampToTerm(meter, at);
  for (const { kind, at: named } of transitions.toReversed()) {
    if (kind === 'paused' || kind === 'closed') endsMs = Math.min(endsMs, named.getTime());
    else elapsedMs += Math.max(0, endsMs - named.getTime());
  }
  return elapsedMs;
}

/** The cost so far, including the remaining term after an early end. */
export function costAt(meter: Meter, at: Date): NanoUsd {
  return nanoUsd(meteredTotal(meter.ratePerHour, elapsedAt(meter, at)) + meter.restOfTerm);
}

/** The cost that is not posted yet; zero if the clock is behind the last posting. */
export function unpostedAt(meter: MeterCostInput, at: Date): NanoUsd {
  const elapsedMs = Math.max(meter.postedMs, elapsedAt(meter, at));
  return subtractUsd(meteredTotal(meter.ratePerHour, elapsedMs), meter.posted);
}

/** The cost for the tenant: everything except the absorbed part. */
export function owedAt(meter: MeterCostInput, at: Date): NanoUsd {
  return subtractUsd(addUsd(meter.posted, unpostedAt(meter, at), meter.restOfTerm), meter.shortfall);
}

/** The difference between posted and due cost: a charge or a credit, never both. */
export interface MeterSettlement {
  readonly postedMs: number;
  readonly posted: NanoUsd;
  readonly charge: NanoUsd;
  readonly giveBack: NanoUsd;
  /** The supplier's part of the charge, or of the credit (then negative). */
  readonly supplierPart: NanoUsd;
  /** Unit-milliseconds (time × quantity) of the charge. */
  readonly usedMs: number;
  /** Unit-milliseconds of the credit. */
  readonly unusedMs: number;
}

/** Uses absolute totals, so any split of the time posts the same total and repeating a settlement changes nothing. */
export function computeSettlement(meter: Meter, elapsedMs: number): MeterSettlement {
  const posted = meteredTotal(meter.ratePerHour, elapsedMs);
  const difference = subtractUsd(posted, meter.posted);
  const charge = larger(difference, zeroUsd);
  const giveBack = larger(negateUsd(difference), zeroUsd);
  return {
    postedMs: elapsedMs,
    posted,
    charge,
    giveBack,
    supplierPart: supplierAmountOf(meter, elapsedMs, { from: negateUsd(giveBack), to: charge }),
    usedMs: Math.max(0, elapsedMs - meter.postedMs) * meter.quantity,
    unusedMs: Math.max(0, meter.postedMs - elapsedMs) * meter.quantity,
  };
}

/** Limited to the moved amount: two roundings can differ by one nano-USD, which the next settlement corrects. */
function supplierAmountOf(
  meter: Meter,
  elapsedMs: number,
  moves: { readonly from: NanoUsd; readonly to: NanoUsd },
): NanoUsd {
  if (meter.supplier === null) return zeroUsd;
  const due = subtractUsd(meteredTotal(meter.supplier.ratePerHour, elapsedMs), meter.supplier.posted);
  return larger(moves.from, minUsd(moves.to, due));
}

function larger(left: NanoUsd, right: NanoUsd): NanoUsd {
  return left > right ? left : right;
}

export function minUsd(left: NanoUsd, right: NanoUsd): NanoUsd {
  return left < right ? left : right;
}

/** The recipients of a charge or sources of a credit: supplier and platform, or revenue. */
export function ledgerSharesOf(meter: Meter, amount: NanoUsd, ofSupplier: NanoUsd): readonly Share[] {
  if (amount === 0n) return [];
  if (meter.supplier === null) {
    return [{ account: { kind: 'revenue', product: meter.product }, amount }];
  }
  const shares: Share[] = [
    { account: { kind: 'supplier_payable', orgId: meter.supplier.orgId }, amount: ofSupplier },
    { account: { kind: 'platform_fee' }, amount: subtractUsd(amount, ofSupplier) },
  ];
  return shares.filter((share) => share.amount > 0n);
}

/** The part of a credit that returns to the operator: absorbed money before the tenant's money. */
export function absorbedPartOf(meter: Pick<Meter, 'shortfall'>, giveBack: NanoUsd): NanoUsd {
  return minUsd(giveBack, meter.shortfall);
}

/**
 * The remaining term is counted by the calendar, so paused time is not owed. The refund is rounded down as in a quote.
 */
export function restOfTerm(
  meter: Meter,
  elapsedMs: number,
  endedAt: Date,
): { readonly amount: NanoUsd; readonly ofSupplier: NanoUsd } {
  if (meter.termEndsAt === null) return { amount: zeroUsd, ofSupplier: zeroUsd };
  const restMs = Math.max(0, meter.termEndsAt.getTime() - endedAt.getTime());
  const part = (ratePerHour: NanoUsd): NanoUsd => {
    const rest = holdAmount({ ratePerHour }, elapsedMs, restMs);
    return subtractUsd(rest, roundExact(shareOf(rest, meter.refund), 'down'));
  };
  const amount = part(meter.ratePerHour);
  const ofSupplier = meter.supplier === null ? zeroUsd : part(meter.supplier.ratePerHour);
  return { amount, ofSupplier: minUsd(ofSupplier, amount) };
}

/** The next slot of this meter after `now`. The id spreads meters over the hour. */
export function nextPostingTime(meterId: MeterId, now: Date, postEveryMs: number): Date {
  const [, offsetMs] = divideWithRemainder(Number.parseInt(toUuid(meterId).slice(-8), 16), postEveryMs);
  const [, sinceSlotMs] = divideWithRemainder(now.getTime() - offsetMs, postEveryMs);
  return new Date(now.getTime() - sinceSlotMs + postEveryMs);
}

/** The amount to hold: until the next posting, plus the margin and the retention. */
export function holdTarget(meter: Meter, elapsedMs: number, now: Date, policy: MeteringPolicy): NanoUsd {
  const slot = nextPostingTime(meter.id, now, policy.postEveryMs);
  const aheadMs = slot.getTime() - now.getTime() + policy.marginMs;
  return addUsd(holdAmount(meter, elapsedMs, aheadMs), retentionCostOf(meter));
}

/** The cost of the whole retention, rounded up so that the hold always covers it. */
export function retentionCostOf(meter: Pick<Meter, 'retentionMs' | 'retentionRatePerHour'>): NanoUsd {
  return roundExact(hourlyCharge(meter.retentionRatePerHour, meter.retentionMs), 'up');
}

/** The exact posting of `aheadMs` more. */
export function holdAmount(meter: Pick<Meter, 'ratePerHour'>, elapsedMs: number, aheadMs: number): NanoUsd {
  return subtractUsd(
    meteredTotal(meter.ratePerHour, elapsedMs + aheadMs),
    meteredTotal(meter.ratePerHour, elapsedMs),
  );
}

export interface PostingSchedule {
  readonly coveredUntil: Date | null;
  readonly nextPostAt: Date | null;
}

const LAST_INSTANT_MS = Date.UTC(9999, 11, 31);

/** How long the held amount lasts, first for running and then for retention. Null for a free meter. */
function coveredMsOf(meter: Meter, held: NanoUsd): number | null {
  const running = nanoUsd(held - retentionCostOf(meter));
  if (running < 0n) return Number(affordableMs(held, meter.retentionRatePerHour) ?? 0n);
  const runningMs = affordableMs(running, meter.ratePerHour);
  return runningMs === null ? null : Number(runningMs) + meter.retentionMs;
}

/** Posts at the slot, or earlier if the hold does not cover the slot, so that new money is found in time. */
export function scheduleOf(meter: Meter, held: NanoUsd, now: Date, policy: MeteringPolicy): PostingSchedule {
  const paidMs = coveredMsOf(meter, held);
  if (paidMs === null) return { coveredUntil: null, nextPostAt: null };
  const coveredMs = Math.min(LAST_INSTANT_MS, now.getTime() + paidMs);
  const slot = nextPostingTime(meter.id, now, policy.postEveryMs);
  const coveredUntil = new Date(coveredMs);
  if (meter.funding === 'committed') return { coveredUntil, nextPostAt: slot };
  const renewMs = coveredMs - meter.retentionMs - policy.marginMs;
  const soonestMs = now.getTime() + policy.retryMs;
  return { coveredUntil, nextPostAt: new Date(Math.min(slot.getTime(), Math.max(soonestMs, renewMs))) };
}

/** Settlements of a meter are numbered, so that each step is unique. */
export function settlementStepOf(meter: Pick<Meter, 'id' | 'postings'>): string {
  return `meter:${meter.id}:${meter.postings + 1}`;
}
