import type { OrgId } from '@millrace/platform/ids';
import { formatUsd } from '@millrace/platform/money';
import { monthAfter, monthOf } from '../ledger/index.ts';
import { countedQuantity, pricedQuantity, type CostSum, type CostUnit } from './costs.ts';
import type { ResourceInfo } from './costs.store.ts';
import { numberText } from './invoice.ts';
import type { TimeRange } from './day-ranges.ts';

/**
 * Costs in the columns of FOCUS 1.2 (FinOps Open Cost and Usage Specification): its names, its order of the alphabet, its
 * allowed values. Null is an empty field. Pure.
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

/** What rows share: who is billed, by whom, and which invoices there are. */
export interface FocusContext {
  readonly orgId: OrgId;
  readonly orgName: string;
  /** The first line of whoever issues invoices. */
  readonly issuer: string;
  /** Numbers of invoices by the beginning of their month. */
  readonly numbers: ReadonlyMap<number, bigint>;
}

/** One cost of a day, or of the part of a day that was asked for: two exports of the two halves of a day have different rows. */
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
    // The ledger knows what was agreed and charged. Without unit prices these are what was billed.
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

/** FOCUS wants seconds and no fractions of them. */
function instant(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}

const charges = {
  use: { ChargeCategory: 'Usage', ChargeFrequency: 'Usage-Based' },
  refund: { ChargeCategory: 'Credit', ChargeFrequency: 'One-Time' },
  fee: { ChargeCategory: 'Adjustment', ChargeFrequency: 'One-Time' },
} as const;

/** Only of use: what was given back, or owed without use, has no quantity. */
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
  const what = { use, fee: 'rest of a term', refund: 'given back' };
  return `${service.name}: ${resource.kind} ${resource.id}, ${what[kind]}`;
}

/** As RFC 4180 has it. What a spreadsheet would run as a formula is text to it. */
export function csvLine(fields: readonly (string | null)[]): string {
  return `${fields.map(csvField).join(',')}\r\n`;
}

/** Where a formula may begin: at the start, and after a semicolon, at which spreadsheets of many countries divide the line. */
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
