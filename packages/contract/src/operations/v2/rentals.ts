import { z } from 'zod';
import { withoutBidiControls } from '../../bidi-text.ts';
import { explicitOperation } from '../../operation-builders.ts';
import type { ContractSchemas } from '../../records/index.ts';
import {
  bareMetalRegion,
  cudaVersion,
  customPorts,
  gpuType,
  networkType,
  positiveInt,
  requestedTermType,
  virtualMachineRegion,
  volumeLabel,
  volumeSizeInGb,
} from '../../records/vocabulary.ts';
import {
  listHeaders,
  listQuery,
  rentalAdditions,
  v2Errors,
  v2ErrorsWithNotFound,
} from '../baseline-schemas.ts';

/** Baseline rental operations: virtual machines and bare metal. */

const storageVolumeChoice = z
  .discriminatedUnion('isNew', [
    z.object({ isNew: z.literal(false), id: positiveInt }),
    z.object({ isNew: z.literal(true), label: volumeLabel, sizeInGb: volumeSizeInGb }),
  ])
  .meta({ id: 'StorageVolumeChoice' });

const commonFields = {
  gpuType: gpuType.default('h100'),
  label: withoutBidiControls(z.string().max(65_536))
    .optional()
    .meta({ description: 'At most 1000 characters.' }),
  termType: requestedTermType.default('on-demand'),
  discountPercentage: z.number().default(0),
  termPeriodDays: z.number().optional(),
  monitoringEnabled: z.boolean().optional(),
  convertToOnDemandOnExpiry: z.boolean().default(true),
};

export const createBareMetalRentalBody = z
  .object({
    networkType,
    gpuCount: z.int32().min(1).multipleOf(8),
    storageVolume: storageVolumeChoice.optional(),
    region: bareMetalRegion.default('us-central-1'),
    cudaVersion: cudaVersion.optional(),
    ...commonFields,
    ...rentalAdditions,
  })
  .meta({ id: 'CreateBareMetalRental' });

export const createVirtualMachineRentalBody = z
  .object({
    gpuCount: z.int32().min(1),
    networkType: networkType.default('ethernet'),
    region: virtualMachineRegion.default('us-central-1'),
    customPorts: customPorts.optional(),
    ...commonFields,
    ...rentalAdditions,
  })
  .meta({ id: 'CreateVirtualMachineRental' });

const common = {
  document: 'v2',
  source: 'interface',
  errorFamily: 'v2',
  auth: 'key',
  tags: ['rentals'],
} as const;

export function rentalOperations({ rentalRecord, activeBareMetalRental }: ContractSchemas) {
  return {
    createVirtualMachineRental: explicitOperation('POST /v2/alpha/on-demand/virtual-machine-rentals', {
      ...common,
      aliases: ['/v2/on-demand/virtual-machine-rentals'],
      scope: 'rentals:write',
      summary: 'Create a virtual-machine rental',
      body: createVirtualMachineRentalBody,
      response: { status: 200, schema: rentalRecord },
      errors: v2Errors,
      idempotency: 'key',
    }),
    createBareMetalRental: explicitOperation('POST /v2/alpha/on-demand/bare-metal-rentals', {
      ...common,
      aliases: ['/v2/on-demand/bare-metal-rentals'],
      scope: 'rentals:write',
      summary: 'Create a bare-metal rental',
      body: createBareMetalRentalBody,
      response: { status: 200, schema: rentalRecord },
      errors: v2Errors,
      idempotency: 'key',
      notFoundReason: 'VOLUME_NOT_FOUND',
    }),
    listBareMetalRentals: explicitOperation('GET /v2/alpha/on-demand/bare-metal-rentals', {
      ...common,
      aliases: ['/v2/on-demand/bare-metal-rentals'],
      scope: 'rentals:read',
      summary: 'List active bare-metal rentals',
      description: 'Without a limit, all live rentals are listed.',
      query: listQuery,
      response: { status: 200, schema: z.array(activeBareMetalRental), headers: listHeaders },
      errors: v2ErrorsWithNotFound,
    }),
    requestReservation: explicitOperation('POST /v2/alpha/on-demand/request-reservation', {
      ...common,
      aliases: ['/v2/on-demand/request-reservation'],
      scope: 'rentals:write',
      summary: 'Request a reservation for a large instance',
      body: z.object({ gpuCount: z.int().min(1) }),
      response: { status: 200, schema: z.strictObject({ message: z.string() }) },
      errors: v2Errors,
      idempotency: 'key',
    }),
  } as const;
}
