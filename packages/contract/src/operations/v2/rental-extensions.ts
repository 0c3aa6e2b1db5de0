import { z } from 'zod';
import { eventEnvelope } from '../../events.ts';
import { withoutBidiControls } from '../../bidi-text.ts';
import type { ProviderDataSchema } from '../../records/provider-data.ts';
import { rentalStatus } from '../../records/rental.ts';
import { gpuType, region, rentalType } from '../../records/vocabulary.ts';
import { displayName, idlePolicy, maxUsd, ttlSeconds } from '../baseline-schemas.ts';
import { periodQuery } from './billing.ts';
import { withAlphaPath, v2Operation, pageOf, pageQuery, tags } from '../../operation-builders.ts';
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
  listRentalOptions: v2Operation({
    ...withAlphaPath('/v2/alpha/on-demand/rental-options'),
    id: 'listRentalOptions',
    method: 'GET',
    scope: 'catalog:read',
    summary: 'What can be rented now, and for how much',
    tags: ['rentals'],
    query: catalogQuery,
    response: { status: 200, schema: pageOf(rentalOption) },
    idempotency: 'none',
  }),
  listReserveOptions: v2Operation({
    ...withAlphaPath('/v2/alpha/on-demand/reserve-options'),
    id: 'listReserveOptions',
    method: 'GET',
    scope: 'catalog:read',
    summary: 'The terms a rental can be reserved for',
    tags: ['rentals'],
    query: catalogQuery,
    response: { status: 200, schema: pageOf(reserveOption) },
    idempotency: 'none',
  }),
  quoteRental: v2Operation({
    ...withAlphaPath('/v2/alpha/on-demand/quote'),
    id: 'quoteRental',
    method: 'POST',
    scope: 'catalog:read',
    summary: 'What a rental would cost and hold',
    tags: ['rentals'],
    body: rentalRequest,
    response: { status: 200, schema: quote },
    idempotency: 'none',
  }),
  explainPlacement: v2Operation({
    ...withAlphaPath('/v2/alpha/on-demand/placement/explain'),
    id: 'explainPlacement',
    method: 'POST',
    scope: 'catalog:read',
    summary: 'Why a rental can or cannot be placed, and what could be had instead',
    tags: ['rentals'],
    body: rentalRequest,
    response: { status: 200, schema: placementDiagnosis },
    idempotency: 'none',
  }),
} as const;

const terminateBody = z
  .object({
    rentalId: z.int(),
    reason: z.string().trim().max(255).optional(),
  })
  .meta({ id: 'RentalTerminate' });

const terminate = {
  method: 'POST',
  scope: 'rentals:write',
  tags: ['rentals'],
  body: terminateBody,
  response: { status: 200, schema: terminateResponse },
  refuses: [404],
  idempotency: 'key',
  notFoundReason: 'RENTAL_NOT_FOUND',
} as const;

const readRental = {
  method: 'GET',
  scope: 'rentals:read',
  tags: ['rentals'],
  params: rentalParams,
  refuses: [404],
  idempotency: 'none',
  notFoundReason: 'RENTAL_NOT_FOUND',
} as const;

const terminationAndHistoryOperations = {
  terminateVirtualMachineRental: v2Operation({
    ...withAlphaPath('/v2/alpha/on-demand/virtual-machine-rentals/terminate'),
    ...terminate,
    id: 'terminateVirtualMachineRental',
    summary: 'End a virtual-machine rental; the answer is its receipt',
    description: 'Billing stops at the accepted request. Terminating twice answers the same.',
  }),
  terminateBareMetalRental: v2Operation({
    ...withAlphaPath('/v2/alpha/on-demand/bare-metal-rentals/terminate'),
    ...terminate,
    id: 'terminateBareMetalRental',
    summary: 'End a bare-metal rental; the answer is its receipt',
    description: 'Billing stops at the accepted request. Terminating twice answers the same.',
  }),
  listRentalHistory: v2Operation({
    ...withAlphaPath('/v2/alpha/on-demand/rentals/history'),
    id: 'listRentalHistory',
    method: 'GET',
    scope: 'rentals:read',
    summary: 'Rentals that have ended, newest first',
    tags: ['rentals'],
    description: '`from` and `until` are about when they ended.',
    query: pageQuery.extend({ ...periodQuery, rentalType: rentalType.optional() }),
    response: { status: 200, schema: pageOf(rentalHistoryEntry) },
    idempotency: 'none',
  }),
  listRentalEvents: v2Operation({
    ...withAlphaPath('/v2/alpha/on-demand/rentals/{rentalId}/events'),
    ...readRental,
    id: 'listRentalEvents',
    summary: 'What happened to a rental, oldest first',
    description:
      'With `Accept: text/event-stream` it stays open and sends what happens next: `id` is the `seq`, so a client that reconnects with `Last-Event-ID` continues where it was.',
    query: pageQuery,
    response: { status: 200, schema: pageOf(eventEnvelope), sse: true, event: eventEnvelope },
  }),
  getRentalMetrics: v2Operation({
    ...withAlphaPath('/v2/alpha/on-demand/rentals/{rentalId}/metrics'),
    ...readRental,
    id: 'getRentalMetrics',
    summary: 'Utilisation over time',
    query: z.object({ ...periodQuery, stepSeconds: z.coerce.number().int().min(10).max(86_400).default(60) }),
    response: { status: 200, schema: rentalMetrics },
  }),
  getRentalConsole: v2Operation({
    ...withAlphaPath('/v2/alpha/on-demand/rentals/{rentalId}/console'),
    ...readRental,
    id: 'getRentalConsole',
    summary: 'The end of the serial console',
    query: z.object({ maxBytes: z.coerce.number().int().min(1).max(1_048_576).default(65_536) }),
    response: { status: 200, schema: rentalConsole },
  }),
  getRentalCost: v2Operation({
    ...withAlphaPath('/v2/alpha/on-demand/rentals/{rentalId}/cost'),
    ...readRental,
    id: 'getRentalCost',
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
    listVirtualMachineRentals: v2Operation({
      ...withAlphaPath('/v2/alpha/on-demand/virtual-machine-rentals'),
      id: 'listVirtualMachineRentals',
      method: 'GET',
      scope: 'rentals:read',
      summary: 'List virtual-machine rentals that have not ended',
      tags: ['rentals'],
      query: pageQuery.extend({ status: rentalStatus.optional() }),
      response: { status: 200, schema: pageOf(rental) },
      idempotency: 'none',
    }),
    listRentals: v2Operation({
      ...withAlphaPath('/v2/alpha/on-demand/rentals'),
      id: 'listRentals',
      method: 'GET',
      scope: 'rentals:read',
      summary: 'List rentals of both types that have not ended, newest first',
      tags: ['rentals'],
      query: pageQuery.extend({ status: rentalStatus.optional(), rentalType: rentalType.optional() }),
      response: { status: 200, schema: pageOf(rental) },
      idempotency: 'none',
    }),
    getRental: v2Operation({
      ...withAlphaPath('/v2/alpha/on-demand/rentals/{rentalId}'),
      ...readRental,
      id: 'getRental',
      summary: 'Read a rental of either type',
      response: { status: 200, schema: rental },
    }),
    updateRental: v2Operation({
      ...withAlphaPath('/v2/alpha/on-demand/rentals/{rentalId}'),
      id: 'updateRental',
      method: 'PATCH',
      scope: 'rentals:write',
      summary: 'Change what may be changed about a rental',
      description: 'What is left out stays as it is; `tags` are replaced whole.',
      tags: ['rentals'],
      params: rentalParams,
      body: updateBody,
      response: { status: 200, schema: rental },
      refuses: [404],
      idempotency: 'none',
      notFoundReason: 'RENTAL_NOT_FOUND',
    }),
  } as const;
}

function powerOperations(rental: RentalDetail) {
  const common = {
    method: 'POST',
    scope: 'rentals:write',
    tags: ['rentals'],
    params: rentalParams,
    response: { status: 202, schema: rental },
    refuses: [402, 404],
    idempotency: 'key',
    notFoundReason: 'RENTAL_NOT_FOUND',
  } as const;
  return {
    startRental: v2Operation({
      ...withAlphaPath('/v2/alpha/on-demand/rentals/{rentalId}/start'),
      ...common,
      id: 'startRental',
      summary: 'Switch a stopped rental on',
      description:
        'After a stop that released its GPUs it is placed anew, or stays off for want of capacity.',
    }),
    stopRental: v2Operation({
      ...withAlphaPath('/v2/alpha/on-demand/rentals/{rentalId}/stop'),
      ...common,
      id: 'stopRental',
      summary: 'Switch a rental off, keeping its disk',
      body: z
        .object({
          release: z.boolean().default(false).meta({
            description: 'Give the GPUs back and stop paying for them. The disk stays and is billed.',
          }),
        })
        .meta({ id: 'RentalStop' }),
    }),
    rebootRental: v2Operation({
      ...withAlphaPath('/v2/alpha/on-demand/rentals/{rentalId}/reboot'),
      ...common,
      id: 'rebootRental',
      summary: 'Reboot a rental',
      body: z.object({ force: z.boolean().default(false) }).meta({ id: 'RentalReboot' }),
    }),
    extendRental: v2Operation({
      ...withAlphaPath('/v2/alpha/on-demand/rentals/{rentalId}/extend'),
      ...common,
      id: 'extendRental',
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
