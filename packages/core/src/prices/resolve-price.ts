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

/** What counts at an instant, out of everything that was ever written. Pure: no clock, no database. */

/** What somebody wants the price of, with nothing left open. */
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
 * The price that counts for this organisation at this instant, or null. The most specific subject wins: a contract of
 * the organisation before the list, then a price for the region, then one for the network. Of the versions of one
 * subject the last to begin wins, and of those that began together the last one written.
 */
export function resolvePrice(
  prices: readonly Price[],
  /** Null: what those without a contract pay. */
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

/** The option that counts for a term, or null: one for the region before one for all, then the newest. */
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

/** The greatest discount that the organisation may claim on this GPU type at this instant. */
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

/** The first instant after `at` at which any of these begins or ends, or null when nothing is set to change. */
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

/** From its beginning on, up to but not including its end. */
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

/** The one with the highest rank, compared place by place. Ids differ, so the order of the input never matters. */
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
