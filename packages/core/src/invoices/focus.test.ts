import { nanoUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CostKind, CostSum, CostUnit } from './costs.ts';
import { parseCsv } from './csv.fixture.ts';
import { dayOf, daysOf } from './day-ranges.ts';
import { csvLine, focusCsvLine, focusColumns, focusRow, type FocusColumn } from './focus.ts';

/**
 * The rules of FOCUS 1.2 for each column: mandatory, nullable, allowed values. Written from the specification, not from
 * the code.
 */
const text = /^\S/;
const decimal = /^-?[0-9]+(\.[0-9]+)?$/;
const instant = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$/;
// <plural-units> or <singular-unit>-<plural-time-units>
const unit = /^([A-Z][A-Za-z]*s|[A-Z][A-Za-z]*-(Seconds|Hours))$/;

const specified: Readonly<
  Record<string, { readonly level: 'mandatory' | 'other'; readonly nulls: boolean; readonly fits: RegExp }>
> = {
  BilledCost: { level: 'mandatory', nulls: false, fits: decimal },
  BillingAccountId: { level: 'mandatory', nulls: false, fits: text },
  BillingAccountName: { level: 'mandatory', nulls: true, fits: text },
  BillingCurrency: { level: 'mandatory', nulls: false, fits: /^[A-Z]{3}$/ },
  BillingPeriodEnd: { level: 'mandatory', nulls: false, fits: instant },
  BillingPeriodStart: { level: 'mandatory', nulls: false, fits: instant },
  ChargeCategory: { level: 'mandatory', nulls: false, fits: /^(Usage|Purchase|Tax|Credit|Adjustment)$/ },
  ChargeClass: { level: 'mandatory', nulls: true, fits: /^Correction$/ },
  ChargeDescription: { level: 'mandatory', nulls: true, fits: text },
  ChargeFrequency: { level: 'other', nulls: false, fits: /^(One-Time|Recurring|Usage-Based)$/ },
  ChargePeriodEnd: { level: 'mandatory', nulls: false, fits: instant },
  ChargePeriodStart: { level: 'mandatory', nulls: false, fits: instant },
  ConsumedQuantity: { level: 'other', nulls: true, fits: decimal },
  ConsumedUnit: { level: 'other', nulls: true, fits: unit },
  ContractedCost: { level: 'mandatory', nulls: false, fits: decimal },
  EffectiveCost: { level: 'mandatory', nulls: false, fits: decimal },
  InvoiceId: { level: 'other', nulls: true, fits: text },
  InvoiceIssuerName: { level: 'mandatory', nulls: false, fits: text },
  ListCost: { level: 'mandatory', nulls: false, fits: decimal },
  PricingQuantity: { level: 'mandatory', nulls: true, fits: decimal },
  PricingUnit: { level: 'mandatory', nulls: true, fits: unit },
  ProviderName: { level: 'mandatory', nulls: false, fits: text },
  PublisherName: { level: 'mandatory', nulls: false, fits: text },
  RegionId: { level: 'other', nulls: true, fits: text },
  RegionName: { level: 'other', nulls: true, fits: text },
  ResourceId: { level: 'other', nulls: true, fits: text },
  ResourceName: { level: 'other', nulls: true, fits: text },
  ResourceType: { level: 'other', nulls: true, fits: text },
  ServiceCategory: {
    level: 'mandatory',
    nulls: false,
    fits: /^(AI and Machine Learning|Analytics|Business Applications|Compute|Databases|Developer Tools|Multicloud|Identity|Integration|Internet of Things|Management and Governance|Media|Migration|Mobile|Networking|Security|Storage|Web|Other)$/,
  },
  ServiceName: { level: 'mandatory', nulls: false, fits: text },
  ServiceSubcategory: {
    level: 'other',
    nulls: false,
    fits: /^(Virtual Machines|File Storage|Generative AI|Other \(Other\))$/,
  },
};
const parents: Readonly<Record<string, string>> = {
  'Virtual Machines': 'Compute',
  'File Storage': 'Storage',
  'Generative AI': 'AI and Machine Learning',
  'Other (Other)': 'Other',
};

const orgId = testIds.next('org');
const keyId = testIds.next('key');
const basis = {
  orgId,
  orgName: 'Acme, "Inc"',
  issuer: 'Example Cloud',
  numbers: new Map([[Date.UTC(2026, 0), 42n]]),
};
const cost = (more: Partial<CostSum> = {}): CostSum => ({
  kind: 'use',
  resource: { kind: 'rental', id: '42' },
  unit: 'gpu',
  quantity: 7_200_500n,
  cost: nanoUsd(1_500_000_001n),
  keyId: null,
  isCorrection: false,
  ...more,
});

const anyCost = fc
  .record({
    kind: fc.constantFrom<CostKind>('use', 'fee', 'refund'),
    resource: fc.record({
      kind: fc.constantFrom('rental', 'instance', 'volume', 'model', 'something'),
      id: fc.string({ minLength: 1 }),
    }),
    unit: fc.constantFrom<CostUnit>('gpu', 'gb', 'token', 'character', 'request'),
    quantity: fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }),
    cost: fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n }).map(nanoUsd),
    keyId: fc.constantFrom(null, keyId),
    isCorrection: fc.boolean(),
  })
  // Only a refund certainly belongs to an earlier month.
  .map((one) => ({ ...one, isCorrection: one.kind === 'refund' && one.isCorrection }));

describe('FOCUS cost export', () => {
  it('has every mandatory column of FOCUS 1.2, no unknown column, and extensions last', () => {
    const own = focusColumns.filter((column) => column.startsWith('x_'));
    const ofFocus: readonly string[] = focusColumns.slice(0, focusColumns.length - own.length);
    expect(ofFocus.filter((column) => !Object.hasOwn(specified, column))).toEqual([]);
    const mandatory = Object.keys(specified).filter((column) => specified[column]?.level === 'mandatory');
    expect(mandatory.filter((column) => !ofFocus.includes(column))).toEqual([]);
    expect(ofFocus).toEqual(ofFocus.toSorted());
  });

  it('has only allowed values in every row, and can be parsed back', () => {
    const instants = fc.date({
      min: new Date('2025-01-01'),
      max: new Date('2030-01-01'),
      noInvalidDate: true,
    });
    const facts = fc.constantFrom(
      undefined,
      { name: 'node, "one"', region: 'eu-1' },
      { name: null, region: 'us' },
    );
    fc.assert(
      fc.property(anyCost, instants, facts, (one, at, known) => {
        const row = focusRow(one, dayOf(at), known, basis);
        for (const [column, { nulls, fits }] of Object.entries(specified)) {
          const value = row[column as FocusColumn];
          if (value === null) expect(nulls, column).toBe(true);
          else expect(value, column).toMatch(fits);
        }
        // Rules between columns.
        const isUse = row.ChargeCategory === 'Usage';
        expect(row.ConsumedQuantity === null).toBe(!isUse);
        expect(row.ConsumedUnit === null).toBe(row.ConsumedQuantity === null);
        expect(row.PricingUnit === null).toBe(row.PricingQuantity === null);
        expect(row.PricingQuantity === null).toBe(!isUse);
        expect(row.ResourceType === null).toBe(row.ResourceId === null);
        if (row.ResourceId === null) expect(row.ResourceName).toBeNull();
        expect(parents[row.ServiceSubcategory ?? '']).toBe(row.ServiceCategory);
        expect([row.ContractedCost, row.EffectiveCost, row.ListCost]).toEqual(Array(3).fill(row.BilledCost));
        expect((row.ChargePeriodStart ?? '') < (row.ChargePeriodEnd ?? '')).toBe(true);
        expect((row.ChargePeriodEnd ?? '') <= (row.BillingPeriodEnd ?? '')).toBe(true);
        expect((row.BillingPeriodStart ?? '') <= (row.ChargePeriodStart ?? '')).toBe(true);
        const [read] = parseCsv(csvLine(focusColumns) + focusCsvLine(row));
        expect(read?.['BilledCost']).toBe(row.BilledCost);
        expect(read?.['BillingAccountName']).toBe('Acme, "Inc"');
        const isDecimal = /^-?[0-9]+(\.[0-9]+)?$/.test(row.ResourceId ?? '');
        const guarded = row.ResourceId?.replaceAll(/(^|;)(?=[=+\-@\t\r\n])/g, "$1'") ?? null;
        expect(read?.['ResourceId'] ?? null).toBe(isDecimal ? row.ResourceId : guarded);
      }),
    );
  });

  it('uses the requested part of a day as charge period, so that two exports of a day do not overlap', () => {
    const [start, noon, end] = ['2026-01-31T00:00:00Z', '2026-01-31T12:00:00Z', '2026-02-01T00:00:00Z'];
    const rowsOf = (from: string, until: string) =>
      [...daysOf({ from: new Date(from), until: new Date(until) })].map((period) =>
        focusRow(cost(), period, undefined, basis),
      );
    const rows = [...rowsOf(start, noon), ...rowsOf(noon, end)];
    expect(
      rows.map(({ ChargePeriodStart, ChargePeriodEnd }) => [ChargePeriodStart, ChargePeriodEnd]),
    ).toEqual([
      [start, noon],
      [noon, end],
    ]);
    expect(rows.map(({ BillingPeriodStart }) => BillingPeriodStart)).toEqual(
      Array(2).fill('2026-01-01T00:00:00Z'),
    );
  });

  it('describes usage and refunds exactly', () => {
    const at = new Date('2026-01-31T23:59:59.999Z');
    expect(focusRow(cost({ keyId }), dayOf(at), { name: 'train', region: 'eu-1' }, basis)).toEqual({
      BilledCost: '1.500000001',
      BillingAccountId: orgId,
      BillingAccountName: 'Acme, "Inc"',
      BillingCurrency: 'USD',
      BillingPeriodEnd: '2026-02-01T00:00:00Z',
      BillingPeriodStart: '2026-01-01T00:00:00Z',
      ChargeCategory: 'Usage',
      ChargeClass: null,
      ChargeDescription: 'GPU rentals: rental 42, GPU-Hours',
      ChargeFrequency: 'Usage-Based',
      ChargePeriodEnd: '2026-02-01T00:00:00Z',
      ChargePeriodStart: '2026-01-31T00:00:00Z',
      ConsumedQuantity: '7200.5',
      ConsumedUnit: 'GPU-Seconds',
      ContractedCost: '1.500000001',
      EffectiveCost: '1.500000001',
      InvoiceId: 'INV-00000042',
      InvoiceIssuerName: 'Example Cloud',
      ListCost: '1.500000001',
      PricingQuantity: '2.000138889',
      PricingUnit: 'GPU-Hours',
      ProviderName: 'Example Cloud',
      PublisherName: 'Example Cloud',
      RegionId: 'eu-1',
      RegionName: 'eu-1',
      ResourceId: 'rental/42',
      ResourceName: 'train',
      ResourceType: 'Rental',
      ServiceCategory: 'Compute',
      ServiceName: 'GPU rentals',
      ServiceSubcategory: 'Virtual Machines',
      x_ApiKeyId: keyId,
    });
    const refund = focusRow(
      cost({ kind: 'refund', isCorrection: true, cost: nanoUsd(-5n) }),
      dayOf(new Date('2026-02-03T00:00:00Z')),
      undefined,
      basis,
    );
    expect(refund).toMatchObject({
      BilledCost: '-0.000000005',
      ChargeCategory: 'Credit',
      ChargeClass: 'Correction',
      ConsumedQuantity: null,
      InvoiceId: null,
      ResourceName: null,
    });
  });

  it.each([
    [';=1+1', ";'=1+1"],
    ['a;=1;+2;-3;@x', "a;'=1;'+2;'-3;'@x"],
    ['\n=1+1', '"\'\n=1+1"'],
    ['a; b', 'a; b'],
  ])('writes %j so that no spreadsheet executes a part of it', (value, written) => {
    expect(csvLine([value])).toBe(`${written}\r\n`);
  });

  it('escapes formulas for spreadsheets, and leaves amounts unchanged', () => {
    const fields = ['=1+1', '+x', '-x', '@x', '-1.5', 'plain', null, 'a "b"\r\nc', ''];
    expect(csvLine(fields)).toBe(`'=1+1,'+x,'-x,'@x,-1.5,plain,,"a ""b""\r\nc",""\r\n`);
  });
});
