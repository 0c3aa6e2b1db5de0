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

/** What a meter is and what it has cost: pure functions of its row and an instant. */

export type MeterState = 'open' | 'paused' | 'closed';

/** `ahead` holds the next stretch of time and renews it; `committed` has held a whole term from the start. */
export type Funding = 'ahead' | 'committed';

export interface SupplierShare {
  readonly orgId: OrgId;
  readonly ratePerHour: NanoUsd;
  /** What the supplier was credited so far. */
  readonly posted: NanoUsd;
}

/** What the cost of a meter follows from. */
export interface MeterCostInput {
  readonly ratePerHour: NanoUsd;
  readonly runningSince: Date | null;
  readonly elapsedBeforeMs: number;
  readonly termEndsAt: Date | null;
  /** The metered time that `posted` pays for. */
  readonly postedMs: number;
  readonly posted: NanoUsd;
  /** What the operator bore of `posted`. */
  readonly shortfall: NanoUsd;
  /** What an early end of a term was charged for the rest of it. */
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
  /** What an hour of keeping its data costs once it is stopped: its own rate, or that of its disk alone. */
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

/** A meter does not run past the end of its term, however late anyone notices. */
function clampToTerm(meter: Pick<Meter, 'termEndsAt'>, at: Date): number {
  return Math.min(at.getTime(), meter.termEndsAt?.getTime() ?? Infinity);
}

/** Metered time up to an instant, by the row alone. A clock behind the meter's start has seen no time pass. */
export function elapsedAt(
  meter: Pick<Meter, 'runningSince' | 'elapsedBeforeMs' | 'termEndsAt'>,
  at: Date,
): number {
  if (meter.runningSince === null) return meter.elapsedBeforeMs;
  return meter.elapsedBeforeMs + Math.max(0, clampToTerm(meter, at) - meter.runningSince.getTime());
}

/**
 * Metered time by the transitions, in the order they were written down. An interval of running ends at the earliest
 * instant that any later pause or close names, so a close at the last good sign of a machine also takes back what ran
 * between that and a pause recorded in the meantime.
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

/** What a meter has cost by an instant, the rest of a term that was ended early included. */
export function costAt(meter: Meter, at: Date): NanoUsd {
  return nanoUsd(meteredTotal(meter.ratePerHour, elapsedAt(meter, at)) + meter.restOfTerm);
}

/** What has run up and is not posted yet. A clock behind the one of the last posting has seen nothing run up. */
export function unpostedAt(meter: MeterCostInput, at: Date): NanoUsd {
  const elapsedMs = Math.max(meter.postedMs, elapsedAt(meter, at));
  return subtractUsd(meteredTotal(meter.ratePerHour, elapsedMs), meter.posted);
}

/** What the tenant has paid or is to pay for a meter: all of it but what the operator bore. */
export function owedAt(meter: MeterCostInput, at: Date): NanoUsd {
  return subtractUsd(addUsd(meter.posted, unpostedAt(meter, at), meter.restOfTerm), meter.shortfall);
}

/** What brings the books from what is posted to what is due: a charge, or money given back. Never both. */
export interface MeterSettlement {
  readonly postedMs: number;
  readonly posted: NanoUsd;
  readonly charge: NanoUsd;
  readonly giveBack: NanoUsd;
  /** How much of the charge is the supplier's, or how much of what is given back; negative then. */
  readonly supplierPart: NanoUsd;
  /** Unit-milliseconds that the charge is for. */
  readonly usedMs: number;
  /** Unit-milliseconds that are given back. */
  readonly unusedMs: number;
}

/**
 * By absolute totals: whatever was posted when, afterwards exactly the cost of `elapsedMs` is. So it does not matter
 * into how many settlements a stretch of time is cut, and settling twice settles once.
 */
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

/**
 * The supplier's own total less what it was credited. It is a part of what moves, never more: two roundings can differ
 * by one nano-USD, and the next settlement makes up for it.
 */
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

/** The other side of a charge or of money given back: the supplier's part and the platform's rest, or revenue. */
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

/** Of money given back, what goes back to the operator: what nobody had paid comes before what the tenant paid. */
export function absorbedPartOf(meter: Pick<Meter, 'shortfall'>, giveBack: NanoUsd): NanoUsd {
  return minUsd(giveBack, meter.shortfall);
}

/**
 * What the rest of a term costs when it ends early: its price, less the refund, which is rounded down as a quote rounds
 * it. The rest is counted from the end to the end of the term, so time that a pause took out is not owed.
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

/** The next instant of this meter's own minute of the hour, after `now`. Meters are spread over it by their ids. */
export function nextPostingTime(meterId: MeterId, now: Date, postEveryMs: number): Date {
  const [, offsetMs] = divideWithRemainder(Number.parseInt(toUuid(meterId).slice(-8), 16), postEveryMs);
  const [, sinceSlotMs] = divideWithRemainder(now.getTime() - offsetMs, postEveryMs);
  return new Date(now.getTime() - sinceSlotMs + postEveryMs);
}

/** What should be set aside from `now` on: until the next posting, the margin, and the retention of its data. */
export function holdTarget(meter: Meter, elapsedMs: number, now: Date, policy: MeteringPolicy): NanoUsd {
  const slot = nextPostingTime(meter.id, now, policy.postEveryMs);
  const aheadMs = slot.getTime() - now.getTime() + policy.marginMs;
  return addUsd(holdAmount(meter, elapsedMs, aheadMs), retentionCostOf(meter));
}

/** What keeping its data costs for the whole time of its retention; rounded up, so that it always covers it. */
export function retentionCostOf(meter: Pick<Meter, 'retentionMs' | 'retentionRatePerHour'>): NanoUsd {
  return roundExact(hourlyCharge(meter.retentionRatePerHour, meter.retentionMs), 'up');
}

/** What `aheadMs` more will be posted as, to the nano-USD. */
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

/**
 * For how long this much keeps the data: it runs until only the retention is left, and is kept for that long then. Null:
 * it costs nothing.
 */
function coveredMsOf(meter: Meter, held: NanoUsd): number | null {
  const running = nanoUsd(held - retentionCostOf(meter));
  if (running < 0n) return Number(affordableMs(held, meter.retentionRatePerHour) ?? 0n);
  const runningMs = affordableMs(running, meter.ratePerHour);
  return runningMs === null ? null : Number(runningMs) + meter.retentionMs;
}

/**
 * When a meter with this much held from `now` on is posted next: at its slot, or earlier when the hold does not reach
 * over it, so that money that came in meanwhile is found in time.
 */
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

/** Names one settlement among all of a thing: they are numbered, so none can be taken for another. */
export function settlementStepOf(meter: Pick<Meter, 'id' | 'postings'>): string {
  return `meter:${meter.id}:${meter.postings + 1}`;
}
