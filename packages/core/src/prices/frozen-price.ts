import { parseId, type IdKind, type IdOf } from '@millrace/platform/ids';
import {
  divideHalfEven,
  meteredTotal,
  nanoUsd,
  parseNanoUsd,
  ppm,
  ppmPerWhole,
  roundExact,
  shareOf,
  subtractUsd,
  type NanoUsd,
} from '@millrace/platform/money';
import { z } from 'zod';

const msPerDay = 86_400_000;

const amountSchema = z.string().refine((text) => {
  const value = parseNanoUsd(text);
  return value !== null && value >= 0n;
}, 'must be nano-USD, 0 or more, as text');

const idText = <K extends IdKind>(kind: K) =>
  z.custom<IdOf<K>>(
    (value) => typeof value === 'string' && parseId(kind, value) !== null,
    `must be an id of the kind ${kind}`,
  );

const ppmSchema = z.int().min(0).max(1_000_000);

/**
 * The price at which something was sold, stored with it and used by its meter. It contains everything to charge, refund
 * and explain, so the price list is not read again. Plain JSON with amounts as text.
 */
export const frozenPrice = z.strictObject({
  version: z.literal(1),
  product: z.enum(['rental', 'volume']),
  /** The rate of the meter. */
  rateNanoUsdPerHour: amountSchema,
  /** The rate before the discount. */
  originalNanoUsdPerHour: amountSchema,
  discountPpm: ppmSchema,
  /** Number of GPUs, or GB. */
  quantity: z.int().positive(),
  unitNanoUsdPerHour: amountSchema,
  reserve: z
    .strictObject({
      optionId: idText('rso'),
      termPeriodDays: z.int().min(1).max(3650),
      committedNanoUsd: amountSchema,
      /** The refunded share of the remaining term at an early end. */
      refundPpm: ppmSchema,
      /** The rate after the term if the rental continues. */
      onDemandNanoUsdPerHour: amountSchema,
    })
    .nullable(),
  /** The prices it is based on; empty in test mode, which is free. */
  priceIds: z.array(idText('prc')).readonly(),
  frozenAt: z.iso.datetime(),
});

export type FrozenPrice = Readonly<z.infer<typeof frozenPrice>>;

/** Parses a stored price. Throws if it is invalid, because money must not be guessed. */
export function parseFrozenPrice(stored: unknown): FrozenPrice {
  return frozenPrice.parse(stored);
}

export function rateOf(frozen: FrozenPrice): NanoUsd {
  return amountOf(frozen.rateNanoUsdPerHour);
}

/** Does not validate: parsing has checked the amounts of a frozen price. */
export function amountOf(text: string): NanoUsd {
  return nanoUsd(BigInt(text));
}

export function commitmentOf(frozen: FrozenPrice): NanoUsd {
  return amountOf(frozen.reserve?.committedNanoUsd ?? '0');
}

export function termMsOf(termPeriodDays: number): number {
  return termPeriodDays * msPerDay;
}

/** The price after the term, as agreed with the term. */
export function priceAfterTerm(frozen: FrozenPrice): FrozenPrice {
  const { reserve, originalNanoUsdPerHour: original } = frozen;
  if (reserve === null) throw new RangeError('Only a reserved term has a price after its end.');
  const rate = reserve.onDemandNanoUsdPerHour;
  const whole = BigInt(original);
  const off = whole === 0n ? 0n : divideHalfEven((whole - BigInt(rate)) * BigInt(ppmPerWhole), whole);
  return { ...frozen, rateNanoUsdPerHour: rate, discountPpm: ppm(Number(off)), reserve: null };
}

/** The split of a commitment that ends early; the three amounts sum to the commitment. */
export interface EarlyTermination {
  readonly used: NanoUsd;
  readonly refund: NanoUsd;
  readonly owed: NanoUsd;
}

/** Rounds the refund down, so that it never exceeds its percentage. After the term nothing is refunded. */
export function earlyTerminationOf(frozen: FrozenPrice, elapsedMs: number): EarlyTermination {
  const { reserve } = frozen;
  if (reserve === null) throw new RangeError('Only a reserved term can be ended early.');
  const used = meteredTotal(rateOf(frozen), Math.min(elapsedMs, termMsOf(reserve.termPeriodDays)));
  const rest = subtractUsd(commitmentOf(frozen), used);
  const refund = roundExact(shareOf(rest, ppm(reserve.refundPpm)), 'down');
  return { used, refund, owed: subtractUsd(rest, refund) };
}

/** The total cost of this duration: an early end owes the term less its refund, a longer duration costs more. */
export function durationCost(frozen: FrozenPrice, elapsedMs: number): NanoUsd {
  const { reserve } = frozen;
  if (reserve === null) return meteredTotal(rateOf(frozen), elapsedMs);
  const beyondMs = Math.max(0, elapsedMs - termMsOf(reserve.termPeriodDays));
  const { used, owed } = earlyTerminationOf(frozen, elapsedMs);
  return nanoUsd(used + owed + meteredTotal(amountOf(reserve.onDemandNanoUsdPerHour), beyondMs));
}
