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
 * The price that something was sold at, as it is stored on the thing sold and handed to its meter. It holds whatever
 * is needed to charge, refund and explain, so nobody looks into the price book again. Plain JSON: amounts are text.
 */
export const frozenPrice = z.strictObject({
  version: z.literal(1),
  product: z.enum(['rental', 'volume']),
  /** What the meter runs at. */
  rateNanoUsdPerHour: amountSchema,
  /** The same before the discount. */
  originalNanoUsdPerHour: amountSchema,
  discountPpm: ppmSchema,
  /** GPUs, or GB. */
  quantity: z.int().positive(),
  unitNanoUsdPerHour: amountSchema,
  reserve: z
    .strictObject({
      optionId: idText('rso'),
      termPeriodDays: z.int().min(1).max(3650),
      /** What the whole term costs. */
      committedNanoUsd: amountSchema,
      /** What is given back of the rest when the term is ended early. */
      refundPpm: ppmSchema,
      /** What the meter runs at after the term, if the rental goes on. */
      onDemandNanoUsdPerHour: amountSchema,
    })
    .nullable(),
  /** The entries of the price book it came from; none in test mode, which is free. */
  priceIds: z.array(idText('prc')).readonly(),
  frozenAt: z.iso.datetime(),
});

export type FrozenPrice = Readonly<z.infer<typeof frozenPrice>>;

/** Reads what was stored with a thing sold. Throws when it is not a frozen price: money is not guessed. */
export function parseFrozenPrice(stored: unknown): FrozenPrice {
  return frozenPrice.parse(stored);
}

export function rateOf(frozen: FrozenPrice): NanoUsd {
  return amountOf(frozen.rateNanoUsdPerHour);
}

/** Amounts inside a frozen price were checked on the way in. */
export function amountOf(text: string): NanoUsd {
  return nanoUsd(BigInt(text));
}

/** What the whole term costs; 0 without one. */
export function commitmentOf(frozen: FrozenPrice): NanoUsd {
  return amountOf(frozen.reserve?.committedNanoUsd ?? '0');
}

export function termMsOf(termPeriodDays: number): number {
  return termPeriodDays * msPerDay;
}

/** The price at which a rental goes on after its term, as it was agreed with the term. */
export function priceAfterTerm(frozen: FrozenPrice): FrozenPrice {
  const { reserve, originalNanoUsdPerHour: original } = frozen;
  if (reserve === null) throw new RangeError('Only a reserved term has a price for afterwards.');
  const rate = reserve.onDemandNanoUsdPerHour;
  const whole = BigInt(original);
  const off = whole === 0n ? 0n : divideHalfEven((whole - BigInt(rate)) * BigInt(ppmPerWhole), whole);
  return { ...frozen, rateNanoUsdPerHour: rate, discountPpm: ppm(Number(off)), reserve: null };
}

/** What becomes of a commitment that is ended `elapsedMs` after it began; the three parts are the whole of it. */
export interface EarlyTermination {
  readonly used: NanoUsd;
  readonly refund: NanoUsd;
  /** What stays owed for the rest of the term. */
  readonly owed: NanoUsd;
}

/** The refund is rounded down, so that it never exceeds its percentage. After the term there is nothing to give back. */
export function earlyTerminationOf(frozen: FrozenPrice, elapsedMs: number): EarlyTermination {
  const { reserve } = frozen;
  if (reserve === null) throw new RangeError('Only a reserved term can be ended early.');
  const used = meteredTotal(rateOf(frozen), Math.min(elapsedMs, termMsOf(reserve.termPeriodDays)));
  const rest = subtractUsd(commitmentOf(frozen), used);
  const refund = roundExact(shareOf(rest, ppm(reserve.refundPpm)), 'down');
  return { used, refund, owed: subtractUsd(rest, refund) };
}

/** What running for this long costs in the end: a term ended early is owed less its refund, a longer time costs more. */
export function durationCost(frozen: FrozenPrice, elapsedMs: number): NanoUsd {
  const { reserve } = frozen;
  if (reserve === null) return meteredTotal(rateOf(frozen), elapsedMs);
  const beyondMs = Math.max(0, elapsedMs - termMsOf(reserve.termPeriodDays));
  const { used, owed } = earlyTerminationOf(frozen, elapsedMs);
  return nanoUsd(used + owed + meteredTotal(amountOf(reserve.onDemandNanoUsdPerHour), beyondMs));
}
