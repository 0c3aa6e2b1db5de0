import { z } from 'zod';
import type { ProviderDataSchema } from './provider-data.ts';
import {
  gpuFormFactor,
  gpuType,
  networkType,
  positiveInt,
  region,
  rentalType,
  time,
  unconstrained,
} from './vocabulary.ts';

export const rentalStatuses = [
  'Failed',
  'Pending',
  'Running',
  'Terminating',
  'Terminated',
  'Unknown',
] as const;
export const rentalStatus = z.enum(rentalStatuses).meta({ id: 'RentalStatus' });

export const attachedStorage = z
  .strictObject({
    id: positiveInt,
    cost_per_hour: z.number().positive(),
    size_in_gb: positiveInt,
    label: z.string(),
    vip: z.string(),
    attached_instance_ids: z.array(z.number()),
  })
  .meta({ id: 'AttachedStorage' });

export const rentalMeta = z
  .strictObject({
    monitoring_enabled: z.boolean().optional(),
    termination_reason: z.string().optional(),
    attached_storage: z.array(attachedStorage).optional(),
    rental_type: z.string().optional(),
    sales_contract_external_id: z.string().optional(),
  })
  .meta({ id: 'RentalMeta' });

const openTerm = {
  effectiveAt: time,
  costPerHour: z.number(),
  reservedUntil: z.null(),
  reservationEndsAt: z.null(),
  termPeriodDays: z.null(),
  discountPercentage: z.null(),
  originalCostPerHour: z.null(),
};

/** The term of a rental. Only a reserved term has an end, a length and a discount. */
export const term = z
  .discriminatedUnion('termType', [
    z.strictObject({ termType: z.literal('on-demand'), ...openTerm }),
    z.strictObject({
      termType: z.literal('reserved'),
      effectiveAt: time,
      costPerHour: z.number(),
      reservedUntil: time.nullable(),
      reservationEndsAt: time.nullable(),
      termPeriodDays: z.number(),
      discountPercentage: z.number(),
      originalCostPerHour: z.number(),
    }),
    z.strictObject({ termType: z.literal('private-cloud'), ...openTerm }),
  ])
  .meta({ id: 'Term' });

function rentalFields(providerData: ProviderDataSchema) {
  return {
    id: z.int32(),
    createdAt: time,
    updatedAt: time.nullable(),
    deletedAt: time.nullable(),
    userId: z.string().max(50),
    orgId: unconstrained.meta({ description: 'The organisation id, a string, or null.' }),
    startedAt: time.nullable(),
    terminatedAt: time.nullable(),
    externalId: z.string().meta({ description: 'The permanent id of the rental, a UUIDv7.' }),
    rentalId: unconstrained.meta({ description: 'The same as `id`.' }),
    providerData,
    rentalType,
    name: z.string().nullable(),
    label: z.string().nullable(),
    region: region.nullable(),
    convertToOnDemandOnExpiry: z.boolean().nullable(),
    managedK8sClusterId: z.int32().nullable(),
    gpuType,
    gpuCount: z.int32(),
  };
}

/** The response of both create operations, for virtual machines and bare metal. */
export function createRentalRecord(providerData: ProviderDataSchema) {
  return z
    .strictObject({ ...rentalFields(providerData), meta: unconstrained.optional() })
    .meta({ id: 'RentalRecord' });
}

/** An item of the bare-metal list: the rental record with its term, hardware, creator and status. */
export function createActiveBareMetalRental(providerData: ProviderDataSchema) {
  return z
    .strictObject({
      ...rentalFields(providerData),
      rentalType: z.literal('bare-metal'),
      region,
      meta: rentalMeta.nullable().optional(),
      currentTerm: term,
      attachedStorage: z.array(attachedStorage).optional(),
      gpuFormFactor,
      nodes: z.array(
        z.strictObject({
          cpuModel: z.string(),
          gpuCount: z.number(),
          ramGb: z.number(),
          storageGb: z.number(),
          cpuCount: z.number(),
        }),
      ),
      connectionType: networkType,
      ethernetVariant: z.enum(['normal', 'rocev2']).optional(),
      createdBy: z.strictObject({
        id: z.string().max(50),
        name: z.string().max(255).nullable(),
        email: z.string().max(255),
        picture: z.string().nullable(),
      }),
      supportsFeature: z.strictObject({ attachedStorage: z.boolean() }),
      status: rentalStatus.default('Unknown'),
    })
    .meta({ id: 'ActiveBareMetalRental' });
}
