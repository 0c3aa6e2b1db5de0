import { z } from 'zod';
import { positiveInt, time, unconstrained, volumeRegion } from './vocabulary.ts';

export const volumeStatuses = ['active', 'inactive', 'unknown'] as const;
export const volumeStatus = z.enum(volumeStatuses).meta({ id: 'VolumeStatus' });

export const storageVolume = z
  .strictObject({
    id: z.int32(),
    createdAt: time,
    updatedAt: time.nullable(),
    deletedAt: time.nullable(),
    userId: z.string().max(50),
    orgId: unconstrained.meta({ description: 'The organisation id, a string, or null.' }),
    startedAt: time.nullable(),
    terminatedAt: time.nullable(),
    externalId: z.string().meta({ description: 'The permanent id of the volume, a UUIDv7.' }),
    sizeGb: z.int32(),
    label: z.string(),
    costPerHour: z.number(),
    region: volumeRegion,
    storageVolumeId: unconstrained.meta({ description: 'The same as `id`.' }),
    meta: z.strictObject({ termination_reason: z.string().optional() }),
    status: volumeStatus.default('unknown'),
    attachedRentals: z.array(positiveInt),
    sizeInGb: positiveInt,
    vip: z.string(),
  })
  .meta({ id: 'StorageVolume' });
