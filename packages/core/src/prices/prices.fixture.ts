import { Fault } from '@millrace/platform/fault';
import type { OrgId, PriceId } from '@millrace/platform/ids';
import { nanoUsd, ppm } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import { expect } from 'vitest';
import type { Entitlement, GpuSubject, Price, PriceSubject, ReserveOption } from './prices.ts';
import { buildQuote, type QuoteInput, type RentalSpec } from './quote.ts';

/** A small price list for tests. */

export const acme: OrgId = testIds.next('org');

export const other: OrgId = testIds.next('org');

/** Days after 2026-01-01; fractions are allowed. */
export function day(count: number): Date {
  return new Date(Date.UTC(2026, 0, 1) + count * 86_400_000);
}

export const h100: GpuSubject = {
  kind: 'gpu',
  gpuType: 'h100',
  machineType: 'virtual-machine',
  region: null,
  networkType: null,
};

export function priceOf(subject: PriceSubject, nano: bigint, fields: Partial<Price> = {}): Price {
  return {
    id: testIds.next('prc') as PriceId,
    orgId: null,
    subject,
    unit: subject.kind === 'gpu' ? 'gpu_hour' : 'gb_hour',
    price: nanoUsd(nano),
    validFrom: day(0),
    validUntil: null,
    createdAt: day(0),
    ...fields,
  };
}

export function optionOf(fields: Partial<ReserveOption> = {}): ReserveOption {
  return {
    id: testIds.next('rso'),
    machineType: 'virtual-machine',
    gpuType: 'h100',
    region: null,
    termPeriodDays: 30,
    discount: ppm(200_000),
    refund: ppm(500_000),
    createdAt: day(0),
    ...fields,
  };
}

export function entitlementOf(maxDiscountPpm: number, fields: Partial<Entitlement> = {}): Entitlement {
  return {
    id: testIds.next('ent'),
    orgId: acme,
    maxDiscount: ppm(maxDiscountPpm),
    gpuType: null,
    contractReference: null,
    validFrom: day(0),
    validUntil: null,
    revokedAt: null,
    createdAt: day(0),
    ...fields,
  };
}

export const eightGpus: RentalSpec = {
  rentalType: 'virtual-machine',
  gpuCount: 8,
  gpuType: 'h100',
  region: 'us-central-1',
  networkType: 'ethernet',
  termType: 'on-demand',
  discountPercentage: 0,
};

export const list = priceOf(h100, 3_980_000_001n);

export const volume = priceOf({ kind: 'volume', region: null }, 137_000n);

/** Eight GPUs on demand for acme on day 10, with 100 USD and a hold of 75 minutes. */
export function quoteInput(request: Partial<RentalSpec> = {}, fields: Partial<QuoteInput> = {}): QuoteInput {
  return {
    orgId: acme,
    mode: 'live',
    prices: [list, volume],
    now: day(10),
    spec: { ...eightGpus, ...request },
    reserveOptions: [optionOf()],
    entitlements: [],
    available: nanoUsd(100_000_000_000n),
    burn: { burnPerHour: nanoUsd(0n), cover: nanoUsd(0n) },
    holdWindowMs: 75 * 60_000,
    ...fields,
  };
}

export function faultOf(input: QuoteInput): Fault {
  try {
    buildQuote(input);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  return expect.fail('the quote was not refused');
}

export const entitled = (discountPpm: number): Partial<QuoteInput> => ({
  entitlements: [entitlementOf(discountPpm)],
});

export const reserved = { termType: 'reserved', termPeriodDays: 30 } as const;

export const rich = { available: nanoUsd(10n ** 18n) };
