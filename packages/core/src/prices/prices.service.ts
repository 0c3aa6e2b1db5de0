import type { Mode } from '@millrace/platform/envelope';
import type { Reader, Tx } from '@millrace/platform/db';
import { Fault, invalidField, isFault } from '@millrace/platform/fault';
import type { EntitlementId, OrgId, PriceId } from '@millrace/platform/ids';
import {
  fromPercentage,
  parseNanoUsd,
  toPercentage,
  zeroUsd,
  type NanoUsd,
  type Ppm,
} from '@millrace/platform/money';
import { appendAuditEntry, findOrganisation, type AuditContext } from '../identity/index.ts';
import type { BurnRate } from '../ledger/index.ts';
import { freezeModelPrice, type FrozenModelPrice } from './inference-price.ts';
import {
  highestPriceFor,
  unitsFor,
  type Entitlement,
  type MachineType,
  type Price,
  type PriceSubject,
  type PriceUnit,
  type ReserveOption,
} from './prices.ts';
import {
  findEntitlement,
  findPrice,
  insertEntitlement,
  insertPrice,
  insertReserveOption,
  listEntitlements,
  readGpuPrices,
  readModelPrices,
  readRentalPrices,
  readResourcePrices,
  readReserveOptions,
  readStoragePrices,
  setRevoked,
  setPriceEnd,
} from './prices.store.ts';
import type { FrozenPrice } from './frozen-price.ts';
import { livePriceLookup, type LivePriceLookup } from './live-price.ts';
import { freezeStoragePrice, buildQuote, type Quote, type QuoteInput, type RentalSpec } from './quote.ts';
import { resolvePrice, type PricedItem } from './resolve-price.ts';

/** Lets operators change prices, reserve options and entitlements, and quotes prices for other features. */

export interface NewPrice {
  /** The organisation of a contract price; null for a list price. */
  readonly orgId: OrgId | null;
  readonly subject: PriceSubject;
  readonly unit: PriceUnit;
  readonly priceNanoUsd: string;
  readonly validFrom: Date;
  readonly validUntil: Date | null;
  readonly reason: string;
}

export async function createPrice(tx: Tx, cause: AuditContext, request: NewPrice): Promise<Price> {
  const price = requirePrice(request);
  const { orgId, subject, unit, validFrom, validUntil } = request;
  requireValidPeriod(validFrom, validUntil);
  if (orgId !== null) await requireOrganisation(tx, orgId);
  const created = await insertPrice(tx, orgId, { subject, unit, price, validFrom, validUntil });
  if (created === null) throw new Fault('PRICE_EXISTS');
  await appendAuditEntry(tx, orgId, cause, {
    action: 'price.created',
    resource: { kind: 'price', id: created.id },
    after: { subject, unit, priceNanoUsd: String(price), validFrom, validUntil },
    reason: request.reason,
  });
  return created;
}

/** Ends a price now; a price that has not started becomes void. Idempotent. */
export async function endPrice(tx: Tx, cause: AuditContext, id: PriceId, reason: string): Promise<Price> {
  const ended = await setPriceEnd(tx, id, tx.clock.now());
  if (ended === null) {
    const found = await findPrice(tx, id);
    if (found === null) throw new Fault('PRICE_NOT_FOUND');
    return found;
  }
  await appendAuditEntry(tx, ended.orgId, cause, {
    action: 'price.ended',
    resource: { kind: 'price', id },
    after: { validUntil: ended.validUntil },
    reason,
  });
  return ended;
}

export interface NewReserveOption {
  readonly machineType: MachineType;
  readonly gpuType: string;
  readonly region: string | null;
  readonly termPeriodDays: number;
  readonly discountPercentage: number;
  readonly earlyTerminationRefundPercentage: number;
}

export async function createReserveOption(
  tx: Tx,
  cause: AuditContext,
  request: NewReserveOption,
): Promise<ReserveOption> {
  const { machineType, gpuType, region, termPeriodDays } = request;
  const discount = requirePercentage('discountPercentage', request.discountPercentage);
  const refund = requirePercentage(
    'earlyTerminationRefundPercentage',
    request.earlyTerminationRefundPercentage,
  );
  const subject = { machineType, gpuType, region, termPeriodDays };
  const option = await insertReserveOption(tx, { ...subject, discount, refund });
  await appendAuditEntry(tx, null, cause, {
    action: 'reserve_option.created',
    resource: { kind: 'reserve_option', id: option.id },
    after: { ...request },
  });
  return option;
}

export interface NewEntitlement {
  readonly maxDiscountPercentage: number;
  readonly gpuType: string | null;
  readonly contractReference: string | null;
  /** Null: from now on. */
  readonly validFrom: Date | null;
  readonly validUntil: Date | null;
  readonly reason: string;
}

export async function createEntitlement(
  tx: Tx,
  cause: AuditContext,
  orgId: OrgId,
  request: NewEntitlement,
): Promise<Entitlement> {
  const maxDiscount = requirePercentage('maxDiscountPercentage', request.maxDiscountPercentage);
  const validFrom = request.validFrom ?? tx.clock.now();
  const { gpuType, contractReference, validUntil, reason } = request;
  requireValidPeriod(validFrom, validUntil);
  await requireOrganisation(tx, orgId);
  const fields = { gpuType, contractReference, validFrom, validUntil };
  const entitlement = await insertEntitlement(tx, orgId, { maxDiscount, ...fields });
  await appendAuditEntry(tx, orgId, cause, {
    action: 'entitlement.created',
    resource: { kind: 'entitlement', id: entitlement.id },
    after: { maxDiscountPercentage: toPercentage(maxDiscount), ...fields },
    reason,
  });
  return entitlement;
}

/** Idempotent. */
export async function revokeEntitlement(
  tx: Tx,
  cause: AuditContext,
  orgId: OrgId,
  id: EntitlementId,
): Promise<void> {
  if (!(await setRevoked(tx, orgId, id, tx.clock.now()))) {
    if ((await findEntitlement(tx, orgId, id)) === null) throw new Fault('ENTITLEMENT_NOT_FOUND');
    return;
  }
  await appendAuditEntry(tx, orgId, cause, {
    action: 'entitlement.revoked',
    resource: { kind: 'entitlement', id },
  });
}

export interface QuoteRequest {
  readonly spec: RentalSpec;
  readonly available: NanoUsd;
  readonly burn: BurnRate;
  readonly holdWindowMs: number;
  readonly now: Date;
}

/**
 * Quotes by the current price list. In the transaction that creates a rental, the frozen price of the quote is stored
 * with the rental and the price list is not read again.
 */
export async function quoteFor(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  request: QuoteRequest,
): Promise<Quote> {
  const { spec, now } = request;
  const subject = { gpuType: spec.gpuType, machineType: spec.rentalType };
  const prices = await readRentalPrices(reader, orgId, subject, now);
  const reserveOptions = spec.termType === 'reserved' ? await readReserveOptions(reader, subject) : [];
  const entitlements = spec.discountPercentage === 0 ? [] : await listEntitlements(reader, orgId, now);
  const input = { ...request, orgId, prices, reserveOptions, entitlements };
  const quote = buildQuote({ ...input, mode });
  return mode === 'live' ? quote : { ...quote, live: liveQuoteOf(input) };
}

/** The quote that a live key would get; null if a live key would get none. */
function liveQuoteOf(input: Omit<QuoteInput, 'mode'>): Quote | null {
  try {
    return buildQuote({ ...input, mode: 'live' });
  } catch (error) {
    if (isFault(error)) return null;
    throw error;
  }
}

/** Reads the prices of all machines and storage in one query. Null in live mode, which needs no comparison. */
export async function createLivePriceLookup(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  now: Date,
): Promise<LivePriceLookup | null> {
  return mode === 'live' ? null : livePriceLookup(await readResourcePrices(reader, orgId, now), orgId, now);
}

/** The price of the local disk of a released rental; null if no price is set. */
export async function diskPriceFor(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  disk: { readonly region: string; readonly sizeGb: number; readonly now: Date },
): Promise<FrozenPrice | null> {
  const { region, sizeGb, now } = disk;
  const item = { kind: 'disk', region } as const;
  const prices = mode === 'test' ? [] : await readStoragePrices(reader, orgId, now);
  const isPriced = mode === 'test' || resolvePrice(prices, orgId, item, now) !== null;
  return isPriced ? freezeStoragePrice({ orgId, mode, prices, now }, item, sizeGb) : null;
}

/** The price of a volume of this size. Throws if no price is set. */
export async function volumePriceFor(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  volume: { readonly region: string; readonly sizeGb: number; readonly now: Date },
): Promise<FrozenPrice> {
  const { region, sizeGb, now } = volume;
  const prices = mode === 'test' ? [] : await readStoragePrices(reader, orgId, now);
  return freezeStoragePrice({ orgId, mode, prices, now }, { kind: 'volume', region }, sizeGb);
}

/** The price of a GPU hour before discounts; null if no price is set, so that it cannot be rented. */
export type GpuPriceLookup = (item: Omit<PricedItem & { readonly kind: 'gpu' }, 'kind'>) => NanoUsd | null;

/** Reads all GPU prices of the organisation in one query. Null: list prices. */
export async function createGpuPriceLookup(
  reader: Reader,
  orgId: OrgId | null,
  mode: Mode,
  now: Date,
): Promise<GpuPriceLookup> {
  if (mode === 'test') return () => zeroUsd;
  const prices = await readGpuPrices(reader, orgId, now);
  return (item) => resolvePrice(prices, orgId, { kind: 'gpu', ...item }, now)?.price ?? null;
}

/** The price of a model for this organisation, as sent to gateways. */
export async function modelPriceFor(
  reader: Reader,
  orgId: OrgId,
  mode: Mode,
  model: string,
  now: Date,
): Promise<FrozenModelPrice> {
  const prices = await readModelPrices(reader, orgId, model, now);
  return freezeModelPrice({ orgId, mode, prices, now }, model);
}

function requirePrice({ subject, unit, priceNanoUsd }: NewPrice): NanoUsd {
  const units = unitsFor(subject);
  if (!units.includes(unit)) throw invalidField('unit', `must be ${units.join(' or ')} for this subject`);
  const price = parseNanoUsd(priceNanoUsd);
  const highest = highestPriceFor(unit);
  if (price === null || price < 0n || price > highest) {
    throw invalidField('priceNanoUsd', `must be between 0 and ${highest} per ${unit}`);
  }
  return price;
}

function requirePercentage(field: string, percentage: number): Ppm {
  const share = fromPercentage(percentage);
  if (share === null) throw invalidField(field, 'must be between 0 and 100 with at most four decimals');
  return share;
}

function requireValidPeriod(validFrom: Date, validUntil: Date | null): void {
  if (validUntil !== null && validUntil <= validFrom)
    throw invalidField('validUntil', 'must be after validFrom');
}

async function requireOrganisation(reader: Reader, orgId: OrgId): Promise<void> {
  if ((await findOrganisation(reader, orgId)) === null) throw new Fault('ORGANISATION_NOT_FOUND');
}
