import { z } from 'zod';
import type { ProviderDataSchema } from '../../records/provider-data.ts';
import { rentalStatus } from '../../records/rental.ts';
import { gpuType } from '../../records/vocabulary.ts';
import { displayName } from '../baseline-schemas.ts';
import {
  adminOperation,
  auditReason,
  mode,
  organisationId,
  pageOf,
  pageQuery,
  timestamp,
} from '../../operation-builders.ts';
import { nodeId } from '../node-schemas.ts';
import { createRentalDetail, terminateResponse } from '../v2/rental-schemas.ts';
import { wireId } from '../v2/rental-extensions.ts';

/** Operator operations: rentals of all organisations, and private clouds. */

const adminRental = z
  .object({
    id: z.int(),
    externalId: z.string().meta({ description: '`allocatedTo` of the GPUs that it uses.' }),
    kind: z.enum(['virtual-machine', 'bare-metal', 'instance']).meta({
      description: 'An instance is a rental on the marketplace.',
    }),
    organisationId,
    organisationName: z.string(),
    mode,
    name: z.string().nullable(),
    providerId: z.string(),
    region: z.string(),
    gpuType: z.string(),
    gpuCount: z.int().nonnegative(),
    nodeIds: z.array(nodeId).meta({ description: 'The nodes of its machines.' }),
    status: rentalStatus,
    power: z.enum(['on', 'off', 'changing']).meta({
      description: 'A stopped rental is `Running` with its power off.',
    }),
    gpuHeld: z.boolean().meta({ description: 'False after a stop that released the GPUs.' }),
    statusReason: z.string().nullable(),
    statusSince: timestamp,
    createdAt: timestamp,
    startedAt: timestamp.nullable(),
    endedAt: timestamp.nullable(),
  })
  .meta({ id: 'AdminRental' });

const address = z.union([z.ipv4().max(64), z.ipv6().max(64)]);

const privateCloudNode = z.object({
  role: z.enum(['login', 'head', 'compute']).default('compute'),
  hostname: z.string().min(1).max(253).optional(),
  publicIp: address.optional(),
  privateIp: address,
});

const privateCloudBody = z
  .object({
    organisationId,
    name: displayName,
    gpuType,
    gpuCount: z.int32().min(1),
    gpuModel: z.string().max(100).optional(),
    location: z.string().max(100).optional(),
    nodes: z.array(privateCloudNode).min(1).max(10_000),
    sshUser: z.string().min(1).max(32),
    sshPort: z.int().min(1).max(65_535).default(22),
    salesContractExternalId: z.string().max(100).optional(),
    startsAt: timestamp.optional(),
    reason: auditReason,
  })
  .meta({ id: 'PrivateCloudRentalCreate' });

export function adminRentalOperations(providerData: ProviderDataSchema) {
  return {
    adminListRentals: adminOperation('GET /v2/admin/rentals', {
      scope: 'admin:read',
      summary: 'List rentals and instances of all organisations, newest first',
      description: 'Ended rentals are listed only if you filter by their status.',
      tags: ['rentals'],
      query: pageQuery.extend({
        organisationId: organisationId.optional(),
        nodeId: nodeId.optional().meta({ description: 'Only rentals with a machine on this node.' }),
        status: rentalStatus.optional(),
        mode: mode.optional(),
      }),
      response: { status: 200, schema: pageOf(adminRental) },
    }),
    adminCreatePrivateCloudRental: adminOperation('POST /v2/admin/private-cloud-rentals', {
      scope: 'admin:write',
      summary: 'Hand over a private cloud under contract; it is never metered by GPU',
      tags: ['rentals'],
      body: privateCloudBody,
      response: { status: 201, schema: createRentalDetail(providerData) },
      idempotency: 'key',
      notFoundReason: 'ORGANISATION_NOT_FOUND',
    }),
    adminTerminateRental: adminOperation('POST /v2/admin/rentals/{rentalId}/terminate', {
      scope: 'admin:write',
      summary: 'Terminate any rental',
      tags: ['rentals'],
      params: z.object({ rentalId: wireId }),
      body: z.object({ reason: auditReason }).meta({ id: 'AdminRentalTerminate' }),
      response: { status: 200, schema: terminateResponse },
      idempotency: 'key',
      notFoundReason: 'RENTAL_NOT_FOUND',
    }),
  } as const;
}
