import type { OrgId } from '@millrace/platform/ids';
import { formatUsd } from '@millrace/platform/money';
import { monthAfter, monthOf } from '../ledger/index.ts';
import { countedQuantity, pricedQuantity, type CostSum, type CostUnit } from './costs.ts';
import type { ResourceInfo } from './costs.store.ts';
import { numberText } from './invoice.ts';
import type { TimeRange } from './day-ranges.ts';

/**
 * Formats costs in the columns of FOCUS 1.2 (FinOps Open Cost and Usage Specification), in alphabetical order. Null is
 * an empty field. Pure.
 */

export const focusColumns = [
  'BilledCost',
  'BillingAccountId',
  'BillingAccountName',
  'BillingCurrency',
  'BillingPeriodEnd',
  'BillingPeriodStart',
  'ChargeCategory',
  'ChargeClass',
  'ChargeDescription',
  'ChargeFrequency',
  'ChargePeriodEnd',
  'ChargePeriodStart',
  'ConsumedQuantity',
  'ConsumedUnit',
  'ContractedCost',
  'EffectiveCost',
  'InvoiceId',
  'InvoiceIssuerName',
  'ListCost',
  'PricingQuantity',
  'PricingUnit',
  'ProviderName',
  'PublisherName',
  'RegionId',
  'RegionName',
  'ResourceId',
  'ResourceName',
  'ResourceType',
  'ServiceCategory',
  'ServiceName',
  'ServiceSubcategory',
  'x_ApiKeyId',
] as const;

export type FocusColumn = (typeof focusColumns)[number];
export type FocusRow = Readonly<Record<FocusColumn, string | null>>;

interface Service {
  readonly name: string;
  readonly category: 'Compute' | 'Storage' | 'AI and Machine Learning' | 'Other';
  readonly subcategory: string;
  readonly resource: string | null;
}

const machines = { category: 'Compute', subcategory: 'Virtual Machines' } as const;
const services: Readonly<Record<string, Service>> = {
  rental: { ...machines, name: 'GPU rentals', resource: 'Rental' },
  instance: { ...machines, name: 'GPU marketplace', resource: 'Instance' },
  volume: { name: 'Volumes', category: 'Storage', subcategory: 'File Storage', resource: 'Volume' },
  model: {
    name: 'Inference',
    category: 'AI and Machine Learning',
    subcategory: 'Generative AI',
    resource: null,
  },
};
const otherService = {
  name: 'Other',
  category: 'Other',
  subcategory: 'Other (Other)',
  resource: null,
} as const;

const units: Readonly<Record<Exclude<CostUnit, 'none'>, { consumed: string; pricing: string }>> = {
  gpu: { consumed: 'GPU-Seconds', pricing: 'GPU-Hours' },
  gb: { consumed: 'GB-Seconds', pricing: 'GB-Hours' },
  token: { consumed: 'Tokens', pricing: 'Tokens' },
  character: { consumed: 'Characters', pricing: 'Characters' },
  request: { consumed: 'Requests', pricing: 'Requests' },
};

export interface FocusContext {
  readonly orgId: OrgId;
  readonly orgName: string;
  /** The first line of the invoice issuer. */
  readonly issuer: string;
  /** Invoice numbers by the start of their month in milliseconds. */
  readonly numbers: ReadonlyMap<number, bigint>;
}

/** One cost of the requested part of a day, so exports of two halves of a day have different rows. */
export function focusRow(
  cost: CostSum,
  period: TimeRange,
  facts: ResourceInfo | undefined,
  basis: FocusContext,
): FocusRow {
  const { resource } = cost;
  const month = monthOf(period.from);
  const number = basis.numbers.get(month.getTime());
  const service = services[resource.kind] ?? otherService;
  const resourceId = service.resource === null ? null : `${resource.kind}/${resource.id}`;
  const amount = formatUsd(cost.cost);
  return {
    BilledCost: amount,
    BillingAccountId: basis.orgId,
    BillingAccountName: basis.orgName,
    BillingCurrency: 'USD',
    BillingPeriodEnd: instant(monthAfter(month)),
    BillingPeriodStart: instant(month),
    ...charges[cost.kind],
    ChargeClass: cost.isCorrection ? 'Correction' : null,
    ChargeDescription: chargeDescription(cost, service),
    ChargePeriodEnd: instant(period.until),
    ChargePeriodStart: instant(period.from),
    ...quantitiesOf(cost),
    // The ledger has no unit prices, so these columns equal the billed cost.
    ContractedCost: amount,
    EffectiveCost: amount,
    ListCost: amount,
    InvoiceId: number === undefined ? null : numberText(number),
    InvoiceIssuerName: basis.issuer,
    ProviderName: basis.issuer,
    PublisherName: basis.issuer,
    RegionId: facts?.region ?? null,
    RegionName: facts?.region ?? null,
    ResourceId: resourceId,
    ResourceName: resourceId === null ? null : (facts?.name ?? null),
    ResourceType: service.resource,
    ServiceCategory: service.category,
    ServiceName: service.name,
    ServiceSubcategory: service.subcategory,
    x_ApiKeyId: cost.keyId,
  };
}

/** FOCUS requires whole seconds. */
function instant(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}

const charges = {
  use: { ChargeCategory: 'Usage', ChargeFrequency: 'Usage-Based' },
  refund: { ChargeCategory: 'Credit', ChargeFrequency: 'One-Time' },
  fee: { ChargeCategory: 'Adjustment', ChargeFrequency: 'One-Time' },
} as const;

/** Only usage has a quantity; refunds and fees have none. */
function quantitiesOf({ kind, unit, quantity }: CostSum) {
  if (kind !== 'use' || unit === 'none') {
    return { ConsumedQuantity: null, ConsumedUnit: null, PricingQuantity: null, PricingUnit: null };
  }
  return {
    ConsumedQuantity: countedQuantity(unit, quantity),
    ConsumedUnit: units[unit].consumed,
    PricingQuantity: pricedQuantity(unit, quantity),
    PricingUnit: units[unit].pricing,
  };
}

function chargeDescription({ kind, resource, unit }: CostSum, service: Service): string {
  const use = unit === 'none' ? 'use' : units[unit].pricing;
  const what = { use, fee: 'remaining term', refund: 'refund' };
  return `${service.name}: ${resource.kind} ${resource.id}, ${what[kind]}`;
}

/** By RFC 4180. Text that a spreadsheet would execute as a formula is escaped. */
export function csvLine(fields: readonly (string | null)[]): string {
  return `${fields.map(csvField).join(',')}\r\n`;
}

/** A formula may start at the beginning, or after a semicolon, which separates fields in many countries. */
const formulaStart = /(^|;)(?=[=+\-@\t\r\n])/g;
const decimal = /^-?[0-9]+(\.[0-9]+)?$/;

function csvField(value: string | null): string {
  if (value === null) return '';
  const text = decimal.test(value) ? value : value.replace(formulaStart, "$1'");
  return /[",\r\n]/.test(text) || text === '' ? `"${text.replaceAll('"', '""')}"` : text;
}

export function focusCsvLine(row: FocusRow): string {
  return csvLine(focusColumns.map((column) => row[column]));
}
