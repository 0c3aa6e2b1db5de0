import { z } from 'zod';
import { networkType, rentalType } from '../../records/vocabulary.ts';
import { adminOrganisationParams } from './organisations.ts';
import { ledgerEntry, ledgerKind, periodQuery, transferId } from '../v2/billing.ts';
import {
  adminOperation,
  auditReason,
  nanoUsd,
  noContent,
  organisationId,
  pageOf,
  pageQuery,
  positiveNanoUsd,
  prefixedId,
  reasonQuery,
  timestamp,
} from '../../operation-builders.ts';

/** Operators: money. Every act takes a reason, which goes to the audit log with the transfer it made. */

const adminTransfer = z
  .object({ ...ledgerEntry.shape, organisationId, reason: z.string().nullable() })
  .meta({ id: 'AdminTransfer' });

const adminBalance = z
  .object({
    organisationId,
    balanceNanoUsd: nanoUsd,
    heldNanoUsd: nanoUsd,
    availableNanoUsd: nanoUsd,
    maxOverdraftNanoUsd: nanoUsd,
    frozen: z.boolean().meta({ description: 'A frozen account admits no new work.' }),
  })
  .meta({ id: 'AdminBalance' });

/** The most that an operator moves, or allows, by one act: a slip of the hand must not fill an account of the ledger. */
export const operatorAdjustmentMaxUsd = 10_000_000;

const ledgerOperation = {
  tags: ['money'],
  scope: 'admin:money',
  idempotency: 'key',
} as const;

const ledgerOperations = {
  adminGrant: adminOperation('POST /v2/admin/organisations/{organisationId}/grants', {
    ...ledgerOperation,
    summary: 'Give an organisation credit',
    description: `At most ${operatorAdjustmentMaxUsd} USD at once.`,
    params: adminOrganisationParams,
    body: z
      .object({
        amountNanoUsd: positiveNanoUsd,
        expiresAt: timestamp.optional().meta({
          description: 'Makes it promotional: spent before paid credit, and gone at this moment.',
        }),
        priority: z.int().min(0).max(1000).optional().meta({
          description:
            'Makes it promotional: among promotional credit the lowest is spent first; 100 unless said.',
        }),
        reason: auditReason,
      })
      .meta({ id: 'AdminGrant' }),
    response: { status: 201, schema: adminTransfer },
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminAdjust: adminOperation('POST /v2/admin/organisations/{organisationId}/adjustments', {
    ...ledgerOperation,
    summary: 'Correct a balance, up or down',
    description: `A correction never takes a balance below its floor: 402. At most ${operatorAdjustmentMaxUsd} USD at once.`,
    params: adminOrganisationParams,
    body: z.object({ amountNanoUsd: nanoUsd, reason: auditReason }).meta({ id: 'AdminAdjustment' }),
    response: { status: 201, schema: adminTransfer },
    refuses: [402],
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminRefund: adminOperation('POST /v2/admin/organisations/{organisationId}/refunds', {
    ...ledgerOperation,
    summary: 'Give back part or all of a charge',
    description: 'The refunds of a charge together never exceed it: 409.',
    params: adminOrganisationParams,
    body: z
      .object({ transferId, amountNanoUsd: positiveNanoUsd.optional(), reason: auditReason })
      .meta({ id: 'AdminRefund' }),
    response: { status: 201, schema: adminTransfer },
    notFoundReason: 'TRANSFER_NOT_FOUND',
  }),
  adminReverse: adminOperation('POST /v2/admin/transfers/{transferId}/reverse', {
    ...ledgerOperation,
    summary: 'Undo a transfer by its exact opposite',
    params: z.object({ transferId }),
    body: z.object({ reason: auditReason }).meta({ id: 'AdminReverse' }),
    response: { status: 201, schema: adminTransfer },
    refuses: [402],
    notFoundReason: 'TRANSFER_NOT_FOUND',
  }),
  adminGetBalance: adminOperation('GET /v2/admin/organisations/{organisationId}/balance', {
    scope: 'admin:read',
    summary: 'Read the balance of any organisation',
    tags: ['money'],
    params: adminOrganisationParams,
    response: { status: 200, schema: adminBalance },
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminSetOverdraft: adminOperation('PUT /v2/admin/organisations/{organisationId}/overdraft', {
    scope: 'admin:money',
    summary: 'Say how far below zero a balance may go',
    description: `An overdraft that is in use cannot be taken away: 409. At most ${operatorAdjustmentMaxUsd} USD.`,
    tags: ['money'],
    params: adminOrganisationParams,
    body: z
      .object({
        maxOverdraftNanoUsd: z
          .string()
          .regex(/^(0|[1-9][0-9]{0,17})$/, 'must be a whole number of nano-USD, 0 or more, as a string'),
        reason: auditReason,
      })
      .meta({ id: 'AdminOverdraft' }),
    response: { status: 200, schema: adminBalance },
    refuses: [409],
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminUnfreeze: adminOperation('POST /v2/admin/organisations/{organisationId}/unfreeze', {
    ...ledgerOperation,
    summary: 'Admit new work again after a disputed payment was settled',
    params: adminOrganisationParams,
    body: z.object({ reason: auditReason }).meta({ id: 'AdminUnfreeze' }),
    response: { status: 200, schema: adminBalance },
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminListTransfers: adminOperation('GET /v2/admin/transfers', {
    scope: 'admin:read',
    summary: 'List transfers of every organisation, newest first',
    tags: ['money'],
    query: pageQuery.extend({
      ...periodQuery,
      organisationId: organisationId.optional(),
      kind: ledgerKind.optional(),
    }),
    response: { status: 200, schema: pageOf(adminTransfer) },
  }),
} as const;

const priceId = prefixedId('prc', 'an entry of the price book');
const entitlementId = prefixedId('ent', 'an entitlement');

const priceSubject = z
  .discriminatedUnion('kind', [
    z.object({
      kind: z.literal('gpu'),
      gpuType: z.string().min(1).max(64),
      machineType: rentalType,
      region: z.string().min(1).max(64).nullable(),
      networkType: networkType.nullable().optional().meta({ description: 'Null or absent: every network.' }),
    }),
    z.object({ kind: z.literal('volume'), region: z.string().min(1).max(64).nullable() }),
    z
      .object({ kind: z.literal('disk'), region: z.string().min(1).max(64).nullable() })
      .meta({ description: 'The local disk of a rental that was stopped and gave its GPUs back.' }),
    z.object({
      kind: z.literal('model'),
      model: z.string().min(1).max(200),
      unit: z.enum(['prompt_token', 'cached_prompt_token', 'completion_token', 'image', 'character']),
    }),
  ])
  .meta({ id: 'PriceSubject', 'x-extensible': true });

const priceFields = {
  subject: priceSubject,
  unit: z.enum(['gpu_hour', 'gb_hour', 'token', 'million_tokens', 'image', 'character']).meta({
    'x-extensible': true,
    description:
      'Must fit the subject. Tokens are priced singly or by the million, where one costs less than a nano-USD.',
  }),
  priceNanoUsd: nanoUsd.meta({
    description:
      'For one unit; 0 or more. An image is one of 1024 x 1024 pixels in 25 steps, and grows with all three.',
  }),
  validFrom: timestamp,
};

const priceOrganisation = organisationId.nullable().meta({
  description:
    'A contract price for this organisation alone, which beats every list price. Null: a list price.',
});

const price = z
  .object({
    id: priceId,
    organisationId: priceOrganisation,
    ...priceFields,
    validUntil: timestamp.nullable(),
    createdAt: timestamp,
  })
  .meta({ id: 'Price' });

const percentage = z
  .number()
  .min(0)
  .max(100)
  .meta({ description: 'In percent, with at most four decimals.' });

const reserveOptionFields = {
  machineType: rentalType,
  gpuType: z.string().min(1).max(64),
  region: z.string().min(1).max(64).nullable(),
  termPeriodDays: z.int().min(1).max(3650),
  discountPercentage: percentage,
  earlyTerminationRefundPercentage: percentage,
};

const adminReserveOption = z
  .object({ id: prefixedId('rso', 'a reserve option'), ...reserveOptionFields, createdAt: timestamp })
  .meta({ id: 'AdminReserveOption' });

const entitlement = z
  .object({
    id: entitlementId,
    organisationId,
    maxDiscountPercentage: percentage,
    gpuType: z.string().nullable(),
    contractReference: z.string().nullable(),
    validFrom: timestamp,
    validUntil: timestamp.nullable(),
  })
  .meta({ id: 'Entitlement' });

const priceListOperations = {
  adminListPrices: adminOperation('GET /v2/admin/prices', {
    scope: 'admin:read',
    summary: 'List the price book, newest first',
    tags: ['prices'],
    query: pageQuery.extend({
      at: timestamp
        .optional()
        .meta({ description: 'As it stands at this moment: one price for each subject.' }),
      organisationId: organisationId.optional().meta({ description: 'Only its contract prices.' }),
    }),
    response: { status: 200, schema: pageOf(price) },
  }),
  adminCreatePrice: adminOperation('POST /v2/admin/prices', {
    scope: 'admin:write',
    summary: 'Set a price from a moment on',
    description: 'The price book only grows: what runs keeps the price frozen when it began.',
    tags: ['prices'],
    body: z
      .object({
        organisationId: priceOrganisation.optional(),
        ...priceFields,
        validUntil: timestamp.nullable().optional(),
        reason: auditReason,
      })
      .meta({ id: 'PriceCreate' }),
    response: { status: 201, schema: price },
    idempotency: 'key',
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminEndPrice: adminOperation('POST /v2/admin/prices/{priceId}/end', {
    scope: 'admin:write',
    summary: 'End a price, so that nothing new is sold by it',
    description:
      'The price that it covered counts again: an older one for the same subject, or one that is less specific.',
    tags: ['prices'],
    params: z.object({ priceId }),
    body: z.object({ reason: auditReason }).meta({ id: 'PriceEnd' }),
    response: { status: 200, schema: price },
    idempotency: 'key',
    notFoundReason: 'PRICE_NOT_FOUND',
  }),
  adminListReserveOptions: adminOperation('GET /v2/admin/reserve-options', {
    scope: 'admin:read',
    summary: 'List the reserve options on offer',
    tags: ['prices'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(adminReserveOption) },
  }),
  adminCreateReserveOption: adminOperation('POST /v2/admin/reserve-options', {
    scope: 'admin:write',
    summary: 'Offer a reserved term',
    description: 'It replaces the option on offer for the same machine type, GPU type, region and term.',
    tags: ['prices'],
    body: z
      .object({ ...reserveOptionFields, reason: auditReason.optional() })
      .meta({ id: 'ReserveOptionCreate' }),
    response: { status: 201, schema: adminReserveOption },
    idempotency: 'key',
  }),
  adminListEntitlements: adminOperation('GET /v2/admin/organisations/{organisationId}/entitlements', {
    scope: 'admin:read',
    summary: 'List the discounts an organisation is entitled to',
    tags: ['prices'],
    params: adminOrganisationParams,
    query: pageQuery,
    response: { status: 200, schema: pageOf(entitlement) },
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminCreateEntitlement: adminOperation('POST /v2/admin/organisations/{organisationId}/entitlements', {
    scope: 'admin:money',
    summary: 'Entitle an organisation to a discount',
    tags: ['prices'],
    params: adminOrganisationParams,
    body: z
      .object({
        maxDiscountPercentage: percentage,
        gpuType: z.string().min(1).max(64).nullable().default(null),
        contractReference: z.string().trim().max(100).nullable().default(null),
        validFrom: timestamp.optional(),
        validUntil: timestamp.nullable().default(null),
        reason: auditReason,
      })
      .meta({ id: 'EntitlementCreate' }),
    response: { status: 201, schema: entitlement },
    idempotency: 'key',
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminRevokeEntitlement: adminOperation(
    'DELETE /v2/admin/organisations/{organisationId}/entitlements/{entitlementId}',
    {
      scope: 'admin:money',
      summary: 'Withdraw an entitlement; what runs keeps its frozen price',
      tags: ['prices'],
      params: z.object({ organisationId, entitlementId }),
      query: reasonQuery,
      response: noContent,
      notFoundReason: 'ENTITLEMENT_NOT_FOUND',
    },
  ),
} as const;

export const adminMoneyOperations = { ...ledgerOperations, ...priceListOperations } as const;
