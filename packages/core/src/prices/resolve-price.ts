import type { OrgId } from '@millrace/platform/ids';
import { ppm, type Ppm } from '@millrace/platform/money';
import type {
  Entitlement,
  MachineType,
  ModelUnit,
  NetworkType,
  Price,
  PriceSubject,
  ReserveOption,
} from './prices.ts';

/** Selects the price, reserve option and entitlement that apply at a time. Pure: no clock, no database. */

/** A fully specified item. */
export type PricedItem =
  | {
      readonly kind: 'gpu';
      readonly gpuType: string;
      readonly machineType: MachineType;
      readonly region: string;
      readonly networkType: NetworkType;
    }
  | { readonly kind: 'volume' | 'disk'; readonly region: string }
  | { readonly kind: 'model'; readonly model: string; readonly unit: ModelUnit };

/**
 * The price of this organisation at this time, or null. The most specific price wins: contract before list, then
 * region, then network. Among versions of one subject the latest start wins, then the latest creation.
 */
export function resolvePrice(
  prices: readonly Price[],
  /** Null: list prices only. */
  orgId: OrgId | null,
  item: PricedItem,
  at: Date,
): Price | null {
  const candidates = prices.filter(
    (price) =>
      (price.orgId === null || price.orgId === orgId) &&
      coversItem(price.subject, item) &&
      isValidAt(price.validFrom, price.validUntil, at),
  );
  return highestRanked(candidates, rankOfPrice);
}

/** An option for the region wins over one for all regions, then the newest. */
export function resolveReserveOption(
  options: readonly ReserveOption[],
  request: {
    readonly machineType: MachineType;
    readonly gpuType: string;
    readonly region: string;
    readonly termPeriodDays: number;
  },
): ReserveOption | null {
  const candidates = options.filter(
    (option) =>
      option.machineType === request.machineType &&
      option.gpuType === request.gpuType &&
      option.termPeriodDays === request.termPeriodDays &&
      matchesOrAny(option.region, request.region),
  );
  return highestRanked(candidates, (option) => [
    isSetRank(option.region),
    option.createdAt.getTime(),
    option.id,
  ]);
}

export function entitledDiscount(
  entitlements: readonly Entitlement[],
  orgId: OrgId,
  gpuType: string,
  at: Date,
): Ppm {
  const granted = entitlements
    .filter(
      (entitlement) =>
        entitlement.orgId === orgId &&
        matchesOrAny(entitlement.gpuType, gpuType) &&
        isEntitledAt(entitlement, at),
    )
    .map((entitlement) => entitlement.maxDiscount);
  return ppm(Math.max(0, ...granted));
}

function isEntitledAt(entitlement: Entitlement, at: Date): boolean {
  const isRevoked = entitlement.revokedAt !== null && entitlement.revokedAt <= at;
  return !isRevoked && isValidAt(entitlement.validFrom, entitlement.validUntil, at);
}

/** The first start or end after `at`, or null. */
export function nextChange(
  versions: readonly { readonly validFrom: Date; readonly validUntil: Date | null }[],
  at: Date,
): Date | null {
  const instants = versions
    .flatMap(({ validFrom, validUntil }) => [validFrom, validUntil])
    .filter((instant) => instant !== null)
    .map((instant) => instant.getTime())
    .filter((instant) => instant > at.getTime());
  return instants.length === 0 ? null : new Date(Math.min(...instants));
}

/** The start is inclusive, the end exclusive. */
function isValidAt(validFrom: Date, validUntil: Date | null, at: Date): boolean {
  return validFrom <= at && (validUntil === null || at < validUntil);
}

function coversItem(subject: PriceSubject, item: PricedItem): boolean {
  switch (subject.kind) {
    case 'gpu':
      return (
        item.kind === 'gpu' &&
        subject.gpuType === item.gpuType &&
        subject.machineType === item.machineType &&
        matchesOrAny(subject.region, item.region) &&
        matchesOrAny(subject.networkType, item.networkType)
      );
    case 'volume':
    case 'disk':
      return item.kind === subject.kind && matchesOrAny(subject.region, item.region);
    case 'model':
      return item.kind === 'model' && subject.model === item.model && subject.unit === item.unit;
  }
}

function matchesOrAny(named: string | null, actual: string): boolean {
  return named === null || named === actual;
}

type Rank = readonly (number | string)[];

function rankOfPrice(price: Price): Rank {
  const { subject } = price;
  return [
    isSetRank(price.orgId),
    isSetRank(subject.kind === 'model' ? null : subject.region),
    isSetRank(subject.kind === 'gpu' ? subject.networkType : null),
    price.validFrom.getTime(),
    price.createdAt.getTime(),
    price.id,
  ];
}

function isSetRank(value: string | null): number {
  return value === null ? 0 : 1;
}

/** Compares ranks element by element. Ids differ, so the order of the input never matters. */
function highestRanked<T>(candidates: readonly T[], rankOf: (candidate: T) => Rank): T | null {
  return candidates.reduce<T | null>(
    (found, next) => (found === null || isHigher(rankOf(next), rankOf(found)) ? next : found),
    null,
  );
}

function isHigher(left: Rank, right: Rank): boolean {
  const place = left.findIndex((value, index) => value !== right[index]);
  const [mine = 0, other = 0] = [left[place], right[place]];
  return mine > other;
}
