import type { Body, Contract } from '@millrace/contract';
import type { Mode } from '@millrace/platform/envelope';
import { Fault, invalidField } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';
import {
  addUsd,
  fromPercentage,
  hourlyCharge,
  ppm,
  ppmPerWhole,
  roundExact,
  secondsToMs,
  shareOf,
  subtractUsd,
  timesUsd,
  toPercentage,
  zeroUsd,
  meteredTotal,
  type NanoUsd,
  type Ppm,
  type Rounding,
} from '@millrace/platform/money';
import { runwaySeconds, type BurnRate } from '../ledger/index.ts';
import { amountOf, commitmentOf, durationCost, rateOf, termMsOf, type FrozenPrice } from './frozen-price.ts';
import type { Entitlement, Price, ReserveOption } from './prices.ts';
import {
  entitledDiscount,
  nextChange,
  resolvePrice,
  resolveReserveOption,
  type PricedItem,
} from './resolve-price.ts';

/** Computes the price, hold and commitment of a rental. Pure. */

export type RentalSpec = Body<Contract['operations']['quoteRental']>;

/**
 * The only rounding of a discounted hourly price. Up, so that the discount never exceeds the granted one; the
 * difference is below one nano-USD per hour.
 */
export const DISCOUNTED_PRICE_ROUNDING: Rounding = 'up';

/** A quote expires after this time even if no price change is scheduled. */
export const QUOTE_VALID_MS = 15 * 60_000;

/** The prices of the item, and for whom and when they are looked up. */
export interface PriceContext {
  readonly orgId: OrgId;
  /** Test mode is free: it needs no price, and every amount is 0. */
  readonly mode: Mode;
  readonly prices: readonly Price[];
  readonly now: Date;
}

export interface QuoteInput extends PriceContext {
  readonly spec: RentalSpec;
  readonly reserveOptions: readonly ReserveOption[];
  readonly entitlements: readonly Entitlement[];
  readonly available: NanoUsd;
  readonly burn: BurnRate;
  /** How far ahead a hold reaches, from the metering policy. */
  readonly holdWindowMs: number;
}

export interface QuoteLine {
  readonly kind: 'gpu' | 'discount' | 'storage';
  readonly description: string;
  readonly perHour: NanoUsd;
}

export interface Quote {
  readonly perHour: NanoUsd;
  readonly originalPerHour: NanoUsd;
  /** Rounded up, for display. */
  readonly perSecond: NanoUsd;
  /** On the GPUs; storage is never discounted. */
  readonly discount: Ppm;
  /** Their sum is `perHour`. */
  readonly lines: readonly QuoteLine[];
  /** The hold at creation, and so the minimum balance. */
  readonly hold: NanoUsd;
  /** For the requested duration or the whole term; null without both. */
  readonly total: NanoUsd | null;
  /** Null for on-demand: no commitment. */
  readonly term: FrozenPrice['reserve'];
  /** How long the money lasts with this rental; null if nothing costs anything. */
  readonly runwaySeconds: number | null;
  readonly affordable: boolean;
  readonly validUntil: Date;
  /** Stored with the rental and with the volume created with it. */
  readonly frozen: { readonly rental: FrozenPrice; readonly volume: FrozenPrice | null };
  /** Test mode only: the same quote in live mode; null if live mode has no price. Never charged or stored. */
  readonly live?: Quote | null;
}

export function buildQuote(input: QuoteInput): Quote {
  try {
    return computeQuote(input);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Fault('VALIDATION_FAILED', {
      message: 'The price of this request exceeds the largest possible balance.',
      suggestion: 'Request fewer GPUs or a shorter duration.',
      cause: error,
    });
  }
}

function computeQuote(input: QuoteInput): Quote {
  const { spec, now } = input;
  const rental = freezeRentalPrice(input);
  const volume =
    spec.storageSizeInGb === undefined
      ? null
      : freezeStoragePrice(input, { kind: 'volume', region: spec.region }, spec.storageSizeInGb);
  const lines = [...rentalLines(spec, rental), ...storageLines(volume)];
  const prices = volume === null ? [rental] : [rental, volume];
  const perHour = addUsd(...prices.map(rateOf));
  const hold = addUsd(...prices.map((part) => initialHold(part, input.holdWindowMs)));
  const durationMs = durationMsOf(spec, rental.reserve);
  return {
    perHour,
    originalPerHour: addUsd(...prices.map((part) => amountOf(part.originalNanoUsdPerHour))),
    perSecond: roundExact(hourlyCharge(perHour, secondsToMs(1)), 'up'),
    discount: ppm(rental.discountPpm),
    lines,
    hold,
    total: durationMs === null ? null : addUsd(...prices.map((part) => durationCost(part, durationMs))),
    term: rental.reserve,
    runwaySeconds: runwaySecondsWith(input, prices),
    affordable: hold === zeroUsd || hold <= input.available,
    validUntil: quoteValidUntil(now, [...input.prices, ...input.entitlements]),
    frozen: { rental, volume },
  };
}

function freezeRentalPrice(input: QuoteInput): FrozenPrice {
  const { spec, now } = input;
  const { gpuType, region, networkType, gpuCount } = spec;
  const option = reserveOptionFor(input);
  const discount = resolveDiscount(input, option);
  const item = { kind: 'gpu', gpuType, machineType: spec.rentalType, region, networkType } as const;
  const price = unitPriceOf(input, item);
  const original = timesUsd(price.perUnit, BigInt(gpuCount));
  const rate = applyDiscount(original, discount.applied);
  return {
    version: 1,
    product: 'rental',
    rateNanoUsdPerHour: String(rate),
    originalNanoUsdPerHour: String(original),
    discountPpm: discount.applied,
    quantity: gpuCount,
    unitNanoUsdPerHour: String(price.perUnit),
    reserve:
      option === null ? null : reserveTermsOf(option, rate, applyDiscount(original, discount.onDemand)),
    priceIds: price.ids,
    frozenAt: now.toISOString(),
  };
}

/** Freezes the price that the machine's owner offered, without the price list. Test mode is free. */
export function freezeAgreedPrice(agreed: {
  readonly mode: Mode;
  readonly perUnit: NanoUsd;
  readonly quantity: number;
  readonly now: Date;
}): FrozenPrice {
  const perUnit = agreed.mode === 'test' ? zeroUsd : agreed.perUnit;
  const rate = String(timesUsd(perUnit, BigInt(agreed.quantity)));
  return {
    version: 1,
    product: 'rental',
    rateNanoUsdPerHour: rate,
    originalNanoUsdPerHour: rate,
    discountPpm: 0,
    quantity: agreed.quantity,
    unitNanoUsdPerHour: String(perUnit),
    reserve: null,
    priceIds: [],
    frozenAt: agreed.now.toISOString(),
  };
}

/** The price of a volume, or of the local disk of a released rental. */
export function freezeStoragePrice(
  context: PriceContext,
  item: PricedItem & { readonly kind: 'volume' | 'disk' },
  sizeGb: number,
): FrozenPrice {
  const price = unitPriceOf(context, item);
  const rate = String(timesUsd(price.perUnit, BigInt(sizeGb)));
  return {
    version: 1,
    product: item.kind === 'volume' ? 'volume' : 'rental',
    rateNanoUsdPerHour: rate,
    originalNanoUsdPerHour: rate,
    discountPpm: 0,
    quantity: sizeGb,
    unitNanoUsdPerHour: String(price.perUnit),
    reserve: null,
    priceIds: price.ids,
    frozenAt: context.now.toISOString(),
  };
}

function unitPriceOf(
  { mode, prices, orgId, now }: PriceContext,
  item: PricedItem,
): { readonly perUnit: NanoUsd; readonly ids: FrozenPrice['priceIds'] } {
  if (mode === 'test') return { perUnit: zeroUsd, ids: [] };
  const price = resolvePrice(prices, orgId, item, now);
  if (price === null) throw new Fault('PRICE_NOT_AVAILABLE');
  return { perUnit: price.price, ids: [price.id] };
}

export function applyDiscount(original: NanoUsd, discount: Ppm): NanoUsd {
  return roundExact(shareOf(original, ppm(ppmPerWhole - discount)), DISCOUNTED_PRICE_ROUNDING);
}

function reserveOptionFor({ spec, reserveOptions }: QuoteInput): ReserveOption | null {
  if (spec.termType === 'on-demand') return null;
  const { termPeriodDays, rentalType: machineType, gpuType, region } = spec;
  if (termPeriodDays === undefined) {
    throw invalidField('termPeriodDays', 'is required with the termType reserved');
  }
  const option = resolveReserveOption(reserveOptions, { machineType, gpuType, region, termPeriodDays });
  if (option === null) throw new Fault('RESERVE_OPTION_NOT_FOUND');
  return option;
}

/**
 * A discount in a request is a claim, limited by the greater of entitlement and published discount of the term; the two
 * are not added. The term's discount needs no claim. After the term only the claim within the entitlement remains.
 */
function resolveDiscount(
  input: QuoteInput,
  option: ReserveOption | null,
): { readonly applied: Ppm; readonly onDemand: Ppm } {
  const { spec, entitlements, orgId, now } = input;
  const claimed = fromPercentage(spec.discountPercentage);
  if (claimed === null) {
    throw invalidField('discountPercentage', 'must be between 0 and 100 with at most four decimals');
  }
  const entitled = entitledDiscount(entitlements, orgId, spec.gpuType, now);
  const published = option?.discount ?? 0;
  if (claimed > Math.max(entitled, published)) throw new Fault('DISCOUNT_NOT_ENTITLED');
  return { applied: ppm(Math.max(claimed, published)), onDemand: ppm(Math.min(claimed, entitled)) };
}

function reserveTermsOf(option: ReserveOption, rate: NanoUsd, onDemandRate: NanoUsd): FrozenPrice['reserve'] {
  const { id: optionId, termPeriodDays, refund: refundPpm } = option;
  return {
    optionId,
    termPeriodDays,
    committedNanoUsd: String(meteredTotal(rate, termMsOf(termPeriodDays))),
    refundPpm,
    onDemandNanoUsdPerHour: String(onDemandRate),
  };
}

/** The whole term, or the hold window; rounded up, so that it always covers the postings. */
export function initialHold(frozen: FrozenPrice, holdWindowMs: number): NanoUsd {
  return frozen.reserve === null
    ? roundExact(hourlyCharge(rateOf(frozen), holdWindowMs), 'up')
    : commitmentOf(frozen);
}

function durationMsOf(request: RentalSpec, term: FrozenPrice['reserve']): number | null {
  if (request.durationSeconds !== undefined) return secondsToMs(request.durationSeconds);
  return term === null ? null : termMsOf(term.termPeriodDays);
}

/** A commitment is held at once and does not burn; everything else is paid from the remaining money. */
function runwaySecondsWith(input: QuoteInput, prices: readonly FrozenPrice[]): number | null {
  const left = subtractUsd(input.available, addUsd(...prices.map(commitmentOf)));
  const burning = prices.filter((part) => part.reserve === null).map(rateOf);
  const { burnPerHour, cover } = input.burn;
  return runwaySeconds({ burnPerHour: addUsd(burnPerHour, ...burning), cover }, left);
}

const rentalTypeText = ({ rentalType }: RentalSpec): string =>
  rentalType === 'bare-metal' ? 'bare metal' : 'virtual machine';

const networkText = ({ networkType }: RentalSpec): string =>
  networkType === 'infiniband' ? 'InfiniBand' : 'Ethernet';

function rentalLines(request: RentalSpec, rental: FrozenPrice): readonly QuoteLine[] {
  const original = amountOf(rental.originalNanoUsdPerHour);
  const gpus: QuoteLine = {
    kind: 'gpu',
    description: `${request.gpuCount} × ${request.gpuType.toUpperCase()} in ${request.region} (${rentalTypeText(request)}, ${networkText(request)})`,
    perHour: original,
  };
  if (rental.discountPpm === 0) return [gpus];
  const percentage = toPercentage(ppm(rental.discountPpm));
  const off = subtractUsd(rateOf(rental), original);
  return [gpus, { kind: 'discount', description: `${percentage} % off`, perHour: off }];
}

function storageLines(volume: FrozenPrice | null): readonly QuoteLine[] {
  if (volume === null) return [];
  return [{ kind: 'storage', description: `${volume.quantity} GB of storage`, perHour: rateOf(volume) }];
}

function quoteValidUntil(
  now: Date,
  versions: readonly { readonly validFrom: Date; readonly validUntil: Date | null }[],
): Date {
  const latestMs = now.getTime() + QUOTE_VALID_MS;
  return new Date(Math.min(latestMs, nextChange(versions, now)?.getTime() ?? latestMs));
}
