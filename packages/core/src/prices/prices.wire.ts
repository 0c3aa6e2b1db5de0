import type { ResponseBody, Body, Contract } from '@millrace/contract';
import { ppm, toNearestUsdNumber, toPercentage, zeroUsd } from '@millrace/platform/money';
import type { FrozenPrice } from './frozen-price.ts';
import type { Entitlement, Price, PriceSubject, ReserveOption } from './prices.ts';
import type { Quote } from './quote.ts';

/** Converts prices, options, entitlements and quotes to API responses. */

type Operations = Contract['operations'];

export type WirePrice = ResponseBody<Operations['adminCreatePrice']>;
export type WireReserveOption = ResponseBody<Operations['adminCreateReserveOption']>;
export type WireEntitlement = ResponseBody<Operations['adminCreateEntitlement']>;
export type WireQuote = ResponseBody<Operations['quoteRental']>;

export function toWirePrice(price: Price): WirePrice {
  return {
    id: price.id,
    organisationId: price.orgId,
    subject: price.subject,
    unit: price.unit,
    priceNanoUsd: String(price.price),
    validFrom: price.validFrom.toISOString(),
    validUntil: price.validUntil?.toISOString() ?? null,
    createdAt: price.createdAt.toISOString(),
  };
}

/** A GPU price without a network type applies to both types, Ethernet and InfiniBand. */
export function fromWireSubject(subject: Body<Operations['adminCreatePrice']>['subject']): PriceSubject {
  return subject.kind === 'gpu' ? { ...subject, networkType: subject.networkType ?? null } : subject;
}

export function toWireReserveOption(option: ReserveOption): WireReserveOption {
  return {
    id: option.id,
    machineType: option.machineType,
    gpuType: option.gpuType,
    region: option.region,
    termPeriodDays: option.termPeriodDays,
    discountPercentage: toPercentage(option.discount),
    earlyTerminationRefundPercentage: toPercentage(option.refund),
    createdAt: option.createdAt.toISOString(),
  };
}

export function toWireEntitlement(entitlement: Entitlement): WireEntitlement {
  return {
    id: entitlement.id,
    organisationId: entitlement.orgId,
    maxDiscountPercentage: toPercentage(entitlement.maxDiscount),
    gpuType: entitlement.gpuType,
    contractReference: entitlement.contractReference,
    validFrom: entitlement.validFrom.toISOString(),
    validUntil: entitlement.validUntil?.toISOString() ?? null,
  };
}

/** The disk of a released rental. Without a price it is retained for free. */
export interface QuotedDisk {
  readonly sizeGb: number;
  readonly price: FrozenPrice | null;
  /** Test mode only: the price in live mode. */
  readonly livePrice: FrozenPrice | null;
}

/** The parts of a quote that do not depend on prices. */
export interface QuoteExtras {
  readonly available: boolean;
  readonly idleRules: boolean;
  /** Null: the rental cannot be released. */
  readonly disk: QuotedDisk | null;
}

export function toWireQuote(quote: Quote, { available, idleRules, disk }: QuoteExtras): WireQuote {
  const { live } = quote;
  return {
    ...quotedAmounts(quote, disk === null ? null : { sizeGb: disk.sizeGb, price: disk.price }),
    costPerHour: toNearestUsdNumber(quote.perHour),
    originalCostPerHour: toNearestUsdNumber(quote.originalPerHour),
    discountPercentage: toPercentage(quote.discount),
    costPerSecondNanoUsd: String(quote.perSecond),
    holdNanoUsd: String(quote.hold),
    ...(live == null
      ? {}
      : { live: quotedAmounts(live, disk === null ? null : { sizeGb: disk.sizeGb, price: disk.livePrice }) }),
    runwaySeconds: quote.runwaySeconds,
    available,
    idleRules,
    affordable: quote.affordable,
    validUntil: quote.validUntil.toISOString(),
  };
}

function quotedAmounts(
  quote: Quote,
  disk: Pick<QuotedDisk, 'sizeGb' | 'price'> | null,
): NonNullable<WireQuote['live']> {
  const { term } = quote;
  return {
    costPerHourNanoUsd: String(quote.perHour),
    lines: quote.lines.map(({ kind, description, perHour }) => ({
      kind,
      description,
      costPerHourNanoUsd: String(perHour),
    })),
    minimumBalanceNanoUsd: String(quote.hold),
    totalNanoUsd: quote.total === null ? null : String(quote.total),
    term:
      term === null
        ? null
        : {
            termPeriodDays: term.termPeriodDays,
            committedNanoUsd: term.committedNanoUsd,
            earlyTerminationRefundPercentage: toPercentage(ppm(term.refundPpm)),
            onDemandCostPerHourNanoUsd: term.onDemandNanoUsdPerHour,
          },
    released:
      disk === null
        ? null
        : { diskGb: disk.sizeGb, costPerHourNanoUsd: disk.price?.rateNanoUsdPerHour ?? String(zeroUsd) },
  };
}
