import { z } from 'zod';
import { explicitOperation } from '../../operation-builders.ts';
import { positiveInt, volumeLabel, volumeRegion, volumeSizeInGb } from '../../records/vocabulary.ts';
import { storageVolume, volumeStatus } from '../../records/volume.ts';
import {
  listHeaders,
  listQuery,
  v2Errors,
  v2ErrorsWithNotFound,
  volumeAdditions,
} from '../baseline-schemas.ts';

/** Baseline storage volume operations. */

const common = {
  document: 'v2',
  source: 'interface',
  errorFamily: 'v2',
  auth: 'key',
  tags: ['volumes'],
} as const;

export const createStorageVolumeBody = z
  .object({
    region: volumeRegion,
    label: volumeLabel,
    sizeInGb: volumeSizeInGb.multipleOf(256),
    rentalIds: z.array(positiveInt).max(10_000).optional(),
    ...volumeAdditions,
  })
  .meta({ id: 'CreateStorageVolume' });

export function volumeOperations() {
  return {
    createStorageVolume: explicitOperation('POST /v2/alpha/on-demand/storage-volumes', {
      ...common,
      aliases: ['/v2/on-demand/storage-volumes'],
      scope: 'volumes:write',
      summary: 'Create a storage volume',
      body: createStorageVolumeBody,
      response: {
        status: 200,
        schema: z.strictObject({
          storageVolumeId: positiveInt,
          region: volumeRegion,
          status: volumeStatus.default('unknown'),
          label: z.string(),
          sizeInGb: positiveInt,
          attachedRentals: z.array(positiveInt),
          message: z.string(),
        }),
      },
      errors: v2Errors,
      idempotency: 'key',
      notFoundReason: 'RENTAL_NOT_FOUND',
    }),
    listStorageVolumes: explicitOperation('GET /v2/alpha/on-demand/storage-volumes', {
      ...common,
      aliases: ['/v2/on-demand/storage-volumes'],
      scope: 'volumes:read',
      summary: 'List storage volumes',
      description: 'Without a limit, all live volumes are listed.',
      query: listQuery,
      response: { status: 200, schema: z.array(storageVolume), headers: listHeaders },
      errors: v2ErrorsWithNotFound,
    }),
    attachStorageVolume: explicitOperation('POST /v2/alpha/on-demand/storage-volumes/attach', {
      ...common,
      aliases: ['/v2/on-demand/storage-volumes/attach'],
      scope: 'volumes:write',
      summary: 'Attach a storage volume to bare-metal rentals',
      // Any integer is a well-formed rental id here; an id that is not positive is not found.
      body: z.object({ storageVolumeId: positiveInt, rentalIds: z.array(z.int()).min(1).max(10_000) }),
      response: {
        status: 200,
        schema: z.strictObject({
          storageVolumeId: positiveInt,
          attachedRentalIds: z.array(positiveInt),
          message: z.string(),
        }),
      },
      errors: v2Errors,
      idempotency: 'key',
      notFoundReason: 'VOLUME_NOT_FOUND',
    }),
  } as const;
}
