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

/** Rental operations beyond the baseline: offers, quotes, and actions on a rental. */

/** Any 32-bit integer: a negative id or an id of another organisation is not found, rather than malformed. */
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
    summary: 'List what can be rented now, with prices',
    tags: ['rentals'],
    query: catalogQuery,
    response: { status: 200, schema: pageOf(rentalOption) },
  }),
  listReserveOptions: alphaOperation('GET /v2/alpha/on-demand/reserve-options', {
    scope: 'catalog:read',
    summary: 'List the reserved terms on offer',
    tags: ['rentals'],
    query: catalogQuery,
    response: { status: 200, schema: pageOf(reserveOption) },
  }),
  quoteRental: alphaOperation('POST /v2/alpha/on-demand/quote', {
    scope: 'catalog:read',
    summary: 'Quote the cost and the hold of a rental',
    tags: ['rentals'],
    body: rentalRequest,
    response: { status: 200, schema: quote },
  }),
  explainPlacement: alphaOperation('POST /v2/alpha/on-demand/placement/explain', {
    scope: 'catalog:read',
    summary: 'Explain why a rental can or cannot be placed, with alternatives',
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
      summary: 'Terminate a virtual-machine rental and get its receipt',
      description: 'Billing stops at the accepted request. Terminating twice returns the same result.',
    },
  ),
  terminateBareMetalRental: alphaOperation('POST /v2/alpha/on-demand/bare-metal-rentals/terminate', {
    ...terminate,
    summary: 'Terminate a bare-metal rental and get its receipt',
    description: 'Billing stops at the accepted request. Terminating twice returns the same result.',
  }),
  listRentalHistory: alphaOperation('GET /v2/alpha/on-demand/rentals/history', {
    scope: 'rentals:read',
    summary: 'List ended rentals, newest first',
    tags: ['rentals'],
    description: '`from` and `until` filter by end time.',
    query: pageQuery.extend({ ...periodQuery, rentalType: rentalType.optional() }),
    response: { status: 200, schema: pageOf(rentalHistoryEntry) },
  }),
  listRentalEvents: alphaOperation('GET /v2/alpha/on-demand/rentals/{rentalId}/events', {
    ...readRental,
    summary: 'List the events of a rental, oldest first',
    description:
      'With `Accept: text/event-stream` the response stays open and sends later events: `id` is the `seq`, so a client that reconnects with `Last-Event-ID` continues where it stopped.',
    query: pageQuery,
    response: { status: 200, schema: pageOf(eventEnvelope), sse: true, event: eventEnvelope },
  }),
  getRentalMetrics: alphaOperation('GET /v2/alpha/on-demand/rentals/{rentalId}/metrics', {
    ...readRental,
    summary: 'Read the utilisation over time',
    query: z.object({ ...periodQuery, stepSeconds: z.coerce.number().int().min(10).max(86_400).default(60) }),
    response: { status: 200, schema: rentalMetrics },
  }),
  getRentalConsole: alphaOperation('GET /v2/alpha/on-demand/rentals/{rentalId}/console', {
    ...readRental,
    summary: 'Read the end of the serial console',
    query: z.object({ maxBytes: z.coerce.number().int().min(1).max(1_048_576).default(65_536) }),
    response: { status: 200, schema: rentalConsole },
  }),
  getRentalCost: alphaOperation('GET /v2/alpha/on-demand/rentals/{rentalId}/cost', {
    ...readRental,
    summary: 'Read the cost of a rental, by meter and transfer',
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
      description: 'Counted from now; null removes the limit.',
    }),
    maxUsd: maxUsd.nullable().optional(),
    idle: idlePolicy.nullable().optional(),
  })
  .meta({ id: 'RentalUpdate' });

type RentalDetail = ReturnType<typeof createRentalDetail>;

/** Operations that return the rental, whose provider data depends on the installation. */
function recordOperations(rental: RentalDetail) {
  return {
    listVirtualMachineRentals: alphaOperation('GET /v2/alpha/on-demand/virtual-machine-rentals', {
      scope: 'rentals:read',
      summary: 'List live virtual-machine rentals',
      tags: ['rentals'],
      query: pageQuery.extend({ status: rentalStatus.optional() }),
      response: { status: 200, schema: pageOf(rental) },
    }),
    listRentals: alphaOperation('GET /v2/alpha/on-demand/rentals', {
      scope: 'rentals:read',
      summary: 'List live rentals of both types, newest first',
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
      summary: 'Change the settings of a rental',
      description: 'Omitted fields stay unchanged; `tags` are replaced as a whole.',
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
      summary: 'Start a stopped rental',
      description:
        'After a stop that released its GPUs, it is placed again, or stays off if there is not enough capacity.',
    }),
    stopRental: alphaOperation('POST /v2/alpha/on-demand/rentals/{rentalId}/stop', {
      ...common,
      summary: 'Stop a rental and keep its disk',
      body: z
        .object({
          release: z.boolean().default(false).meta({
            description: 'Release the GPUs and stop paying for them. The disk is kept and billed.',
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
      summary: 'Extend a reserved term from its current end, or a TTL',
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
