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

/** Operator operations: money. Each takes a reason, which the audit log stores with the transfer. */

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
    frozen: z.boolean().meta({ description: 'A frozen account cannot start new work.' }),
  })
  .meta({ id: 'AdminBalance' });

/** The largest amount of one operator transfer or overdraft, so that a typing error cannot create a huge balance. */
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
    description: `At most ${operatorAdjustmentMaxUsd} USD per request.`,
    params: adminOrganisationParams,
    body: z
      .object({
        amountNanoUsd: positiveNanoUsd,
        expiresAt: timestamp.optional().meta({
          description:
            'Makes the credit promotional: it is spent before paid credit and expires at this time.',
        }),
        priority: z.int().min(0).max(1000).optional().meta({
          description: 'Makes the credit promotional: the lowest priority is spent first. Default: 100.',
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
    description: `An adjustment that would take the balance below its floor is refused with 402. At most ${operatorAdjustmentMaxUsd} USD per request.`,
    params: adminOrganisationParams,
    body: z.object({ amountNanoUsd: nanoUsd, reason: auditReason }).meta({ id: 'AdminAdjustment' }),
    response: { status: 201, schema: adminTransfer },
    refuses: [402],
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminRefund: adminOperation('POST /v2/admin/organisations/{organisationId}/refunds', {
    ...ledgerOperation,
    summary: 'Refund part or all of a charge',
    description: 'Refunds of a charge that exceed it in total are refused with 409.',
    params: adminOrganisationParams,
    body: z
      .object({ transferId, amountNanoUsd: positiveNanoUsd.optional(), reason: auditReason })
      .meta({ id: 'AdminRefund' }),
    response: { status: 201, schema: adminTransfer },
    notFoundReason: 'TRANSFER_NOT_FOUND',
  }),
  adminReverse: adminOperation('POST /v2/admin/transfers/{transferId}/reverse', {
    ...ledgerOperation,
    summary: 'Reverse a transfer with its exact opposite',
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
    summary: 'Set how far below zero a balance can go',
    description: `Removing an overdraft that is in use is refused with 409. At most ${operatorAdjustmentMaxUsd} USD.`,
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
    summary: 'Allow new work again after a disputed payment was settled',
    params: adminOrganisationParams,
    body: z.object({ reason: auditReason }).meta({ id: 'AdminUnfreeze' }),
    response: { status: 200, schema: adminBalance },
    notFoundReason: 'ORGANISATION_NOT_FOUND',
  }),
  adminListTransfers: adminOperation('GET /v2/admin/transfers', {
    scope: 'admin:read',
    summary: 'List transfers of all organisations, newest first',
    tags: ['money'],
    query: pageQuery.extend({
      ...periodQuery,
      organisationId: organisationId.optional(),
      kind: ledgerKind.optional(),
    }),
    response: { status: 200, schema: pageOf(adminTransfer) },
  }),
} as const;

const priceId = prefixedId('prc', 'an entry of the price list');
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
      .meta({ description: 'The local disk of a stopped rental that has released its GPUs.' }),
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
      'Must match the subject. Tokens are priced individually or, if one costs less than a nano-USD, per million.',
  }),
  priceNanoUsd: nanoUsd.meta({
    description:
      'Per unit; 0 or more. The price of an image is for 1024 x 1024 pixels in 25 steps and scales with width, height and steps.',
  }),
  validFrom: timestamp,
};

const priceOrganisation = organisationId.nullable().meta({
  description:
    'A contract price for this organisation only, which overrides every list price. Null: a list price.',
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
    summary: 'List the prices, newest first',
    tags: ['prices'],
    query: pageQuery.extend({
      at: timestamp.optional().meta({ description: 'The prices in effect at this time: one per subject.' }),
      organisationId: organisationId.optional().meta({ description: 'Only its contract prices.' }),
    }),
    response: { status: 200, schema: pageOf(price) },
  }),
  adminCreatePrice: adminOperation('POST /v2/admin/prices', {
    scope: 'admin:write',
    summary: 'Set a price from a given time',
    description: 'The price list only grows: running resources keep the price frozen at their start.',
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
    summary: 'End a price, so that nothing new is sold at it',
    description:
      'The price that it replaced applies again: an older price for the same subject, or a less specific one.',
    tags: ['prices'],
    params: z.object({ priceId }),
    body: z.object({ reason: auditReason }).meta({ id: 'PriceEnd' }),
    response: { status: 200, schema: price },
    idempotency: 'key',
    notFoundReason: 'PRICE_NOT_FOUND',
  }),
  adminListReserveOptions: adminOperation('GET /v2/admin/reserve-options', {
    scope: 'admin:read',
    summary: 'List the available reserve options',
    tags: ['prices'],
    query: pageQuery,
    response: { status: 200, schema: pageOf(adminReserveOption) },
  }),
  adminCreateReserveOption: adminOperation('POST /v2/admin/reserve-options', {
    scope: 'admin:write',
    summary: 'Offer a reserved term',
    description: 'It replaces the existing option for the same machine type, GPU type, region and term.',
    tags: ['prices'],
    body: z
      .object({ ...reserveOptionFields, reason: auditReason.optional() })
      .meta({ id: 'ReserveOptionCreate' }),
    response: { status: 201, schema: adminReserveOption },
    idempotency: 'key',
  }),
  adminListEntitlements: adminOperation('GET /v2/admin/organisations/{organisationId}/entitlements', {
    scope: 'admin:read',
    summary: 'List the discounts of an organisation',
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
      summary: 'Withdraw an entitlement; running resources keep their frozen price',
      tags: ['prices'],
      params: z.object({ organisationId, entitlementId }),
      query: reasonQuery,
      response: noContent,
      notFoundReason: 'ENTITLEMENT_NOT_FOUND',
    },
  ),
} as const;

export const adminMoneyOperations = { ...ledgerOperations, ...priceListOperations } as const;
