import { z } from 'zod';
import { eventEnvelope } from '../../events.ts';
import { withoutBidiControls } from '../../bidi-text.ts';
import type { ProviderDataSchema } from '../../records/provider-data.ts';
import { rentalStatus } from '../../records/rental.ts';
import { gpuType, region, rentalType } from '../../records/vocabulary.ts';
import { displayName, idlePolicy, maxUsd, ttlSeconds } from '../baseline-schemas.ts';
import { periodQuery } from './billing.ts';
import { alphaOperation, pageOf, pageQuery, tags } from '../../operation-builders.ts';
import {
  createRentalDetail,
  placementDiagnosis,
  quote,
  rentalConsole,
  rentalCost,
  rentalHistoryEntry,
  rentalMetrics,
  rentalOption,
  rentalRequest,
  reserveOption,
  terminateResponse,
} from './rental-schemas.ts';

/** Rentals beyond the interface's own operations: what can be had, and everything done to a rental once made. */

/** Any 32-bit integer: a negative or foreign id is not found, rather than malformed. */
export const wireId = z.coerce.number().int().min(-2_147_483_648).max(2_147_483_647);

const rentalParams = z.object({ rentalId: wireId });

const catalogQuery = pageQuery.extend({
  gpuType: gpuType.optional(),
  region: region.optional(),
  machineType: rentalType.optional(),
});

const offerOperations = {
  listRentalOptions: alphaOperation('GET /v2/alpha/on-demand/rental-options', {
    scope: 'catalog:read',
    summary: 'What can be rented now, and for how much',
    tags: ['rentals'],
    query: catalogQuery,
    response: { status: 200, schema: pageOf(rentalOption) },
  }),
  listReserveOptions: alphaOperation('GET /v2/alpha/on-demand/reserve-options', {
    scope: 'catalog:read',
    summary: 'The terms a rental can be reserved for',
    tags: ['rentals'],
    query: catalogQuery,
    response: { status: 200, schema: pageOf(reserveOption) },
  }),
  quoteRental: alphaOperation('POST /v2/alpha/on-demand/quote', {
    scope: 'catalog:read',
    summary: 'What a rental would cost and hold',
    tags: ['rentals'],
    body: rentalRequest,
    response: { status: 200, schema: quote },
  }),
  explainPlacement: alphaOperation('POST /v2/alpha/on-demand/placement/explain', {
    scope: 'catalog:read',
    summary: 'Why a rental can or cannot be placed, and what could be had instead',
    tags: ['rentals'],
    body: rentalRequest,
    response: { status: 200, schema: placementDiagnosis },
  }),
} as const;

const terminateBody = z
  .object({
    rentalId: z.int(),
    reason: z.string().trim().max(255).optional(),
  })
  .meta({ id: 'RentalTerminate' });

const terminate = {
  scope: 'rentals:write',
  tags: ['rentals'],
  body: terminateBody,
  response: { status: 200, schema: terminateResponse },
  idempotency: 'key',
  notFoundReason: 'RENTAL_NOT_FOUND',
} as const;

const readRental = {
  scope: 'rentals:read',
  tags: ['rentals'],
  params: rentalParams,
  notFoundReason: 'RENTAL_NOT_FOUND',
} as const;

const terminationAndHistoryOperations = {
  terminateVirtualMachineRental: alphaOperation(
    'POST /v2/alpha/on-demand/virtual-machine-rentals/terminate',
    {
      ...terminate,
      summary: 'End a virtual-machine rental; the answer is its receipt',
      description: 'Billing stops at the accepted request. Terminating twice answers the same.',
    },
  ),
  terminateBareMetalRental: alphaOperation('POST /v2/alpha/on-demand/bare-metal-rentals/terminate', {
    ...terminate,
    summary: 'End a bare-metal rental; the answer is its receipt',
    description: 'Billing stops at the accepted request. Terminating twice answers the same.',
  }),
  listRentalHistory: alphaOperation('GET /v2/alpha/on-demand/rentals/history', {
    scope: 'rentals:read',
    summary: 'Rentals that have ended, newest first',
    tags: ['rentals'],
    description: '`from` and `until` are about when they ended.',
    query: pageQuery.extend({ ...periodQuery, rentalType: rentalType.optional() }),
    response: { status: 200, schema: pageOf(rentalHistoryEntry) },
  }),
  listRentalEvents: alphaOperation('GET /v2/alpha/on-demand/rentals/{rentalId}/events', {
    ...readRental,
    summary: 'What happened to a rental, oldest first',
    description:
      'With `Accept: text/event-stream` it stays open and sends what happens next: `id` is the `seq`, so a client that reconnects with `Last-Event-ID` continues where it was.',
    query: pageQuery,
    response: { status: 200, schema: pageOf(eventEnvelope), sse: true, event: eventEnvelope },
  }),
  getRentalMetrics: alphaOperation('GET /v2/alpha/on-demand/rentals/{rentalId}/metrics', {
    ...readRental,
    summary: 'Utilisation over time',
    query: z.object({ ...periodQuery, stepSeconds: z.coerce.number().int().min(10).max(86_400).default(60) }),
    response: { status: 200, schema: rentalMetrics },
  }),
  getRentalConsole: alphaOperation('GET /v2/alpha/on-demand/rentals/{rentalId}/console', {
    ...readRental,
    summary: 'The end of the serial console',
    query: z.object({ maxBytes: z.coerce.number().int().min(1).max(1_048_576).default(65_536) }),
    response: { status: 200, schema: rentalConsole },
  }),
  getRentalCost: alphaOperation('GET /v2/alpha/on-demand/rentals/{rentalId}/cost', {
    ...readRental,
    summary: 'What a rental has cost, to the meter and the transfer',
    response: { status: 200, schema: rentalCost },
  }),
} as const;

const updateBody = z
  .object({
    name: displayName.nullable().optional(),
    label: withoutBidiControls(z.string().max(65_536)).nullable().optional(),
    tags: tags.optional(),
    convertToOnDemandOnExpiry: z.boolean().optional(),
    ttlSeconds: ttlSeconds.nullable().optional().meta({
      description: 'Counted from now; null lifts the limit.',
    }),
    maxUsd: maxUsd.nullable().optional(),
    idle: idlePolicy.nullable().optional(),
  })
  .meta({ id: 'RentalUpdate' });

type RentalDetail = ReturnType<typeof createRentalDetail>;

/** The operations that answer with the rental itself, whose provider data is the installation's own. */
function recordOperations(rental: RentalDetail) {
  return {
    listVirtualMachineRentals: alphaOperation('GET /v2/alpha/on-demand/virtual-machine-rentals', {
      scope: 'rentals:read',
      summary: 'List virtual-machine rentals that have not ended',
      tags: ['rentals'],
      query: pageQuery.extend({ status: rentalStatus.optional() }),
      response: { status: 200, schema: pageOf(rental) },
    }),
    listRentals: alphaOperation('GET /v2/alpha/on-demand/rentals', {
      scope: 'rentals:read',
      summary: 'List rentals of both types that have not ended, newest first',
      tags: ['rentals'],
      query: pageQuery.extend({ status: rentalStatus.optional(), rentalType: rentalType.optional() }),
      response: { status: 200, schema: pageOf(rental) },
    }),
    getRental: alphaOperation('GET /v2/alpha/on-demand/rentals/{rentalId}', {
      ...readRental,
      summary: 'Read a rental of either type',
      response: { status: 200, schema: rental },
    }),
    updateRental: alphaOperation('PATCH /v2/alpha/on-demand/rentals/{rentalId}', {
      scope: 'rentals:write',
      summary: 'Change what may be changed about a rental',
      description: 'What is left out stays as it is; `tags` are replaced whole.',
      tags: ['rentals'],
      params: rentalParams,
      body: updateBody,
      response: { status: 200, schema: rental },
      notFoundReason: 'RENTAL_NOT_FOUND',
    }),
  } as const;
}

function powerOperations(rental: RentalDetail) {
  const common = {
    scope: 'rentals:write',
    tags: ['rentals'],
    params: rentalParams,
    response: { status: 202, schema: rental },
    refuses: [402],
    idempotency: 'key',
    notFoundReason: 'RENTAL_NOT_FOUND',
  } as const;
  return {
    startRental: alphaOperation('POST /v2/alpha/on-demand/rentals/{rentalId}/start', {
      ...common,
      summary: 'Switch a stopped rental on',
      description:
        'After a stop that released its GPUs it is placed anew, or stays off for want of capacity.',
    }),
    stopRental: alphaOperation('POST /v2/alpha/on-demand/rentals/{rentalId}/stop', {
      ...common,
      summary: 'Switch a rental off, keeping its disk',
      body: z
        .object({
          release: z.boolean().default(false).meta({
            description: 'Give the GPUs back and stop paying for them. The disk stays and is billed.',
          }),
        })
        .meta({ id: 'RentalStop' }),
    }),
    rebootRental: alphaOperation('POST /v2/alpha/on-demand/rentals/{rentalId}/reboot', {
      ...common,
      summary: 'Reboot a rental',
      body: z.object({ force: z.boolean().default(false) }).meta({ id: 'RentalReboot' }),
    }),
    extendRental: alphaOperation('POST /v2/alpha/on-demand/rentals/{rentalId}/extend', {
      ...common,
      summary: 'Extend a reserved term from its old end, or a time to live',
      body: z
        .union([z.object({ termPeriodDays: z.int().min(1).max(3650) }), z.object({ ttlSeconds })])
        .meta({ id: 'RentalExtend' }),
    }),
  } as const;
}

export function rentalExtensions(providerData: ProviderDataSchema) {
  const rental = createRentalDetail(providerData);
  return {
    ...offerOperations,
    ...terminationAndHistoryOperations,
    ...recordOperations(rental),
    ...powerOperations(rental),
  } as const;
}
