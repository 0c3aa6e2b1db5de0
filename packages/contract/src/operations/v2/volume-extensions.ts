import { z } from 'zod';
import { positiveInt, volumeLabel, volumeRegion, volumeSizeInGb } from '../../records/vocabulary.ts';
import { storageVolume } from '../../records/volume.ts';
import {
  alphaOperation,
  livePrice,
  nanoUsd,
  noContent,
  pageOf,
  pageQuery,
  prefixedId,
  tags,
  timestamp,
} from '../../operation-builders.ts';
import { volumeAdditions } from '../baseline-schemas.ts';
import { wireId } from './rental-extensions.ts';

/** Storage volume operations beyond the baseline. */

const volumeParams = z.object({ storageVolumeId: wireId });

const snapshotId = prefixedId('snp', 'a snapshot');

/** A volume in extension operations: the baseline record with more fields, open to additions. */
const volumeDetail = z
  .object({
    ...storageVolume.shape,
    tags,
    purgeAt: timestamp.nullable().meta({ description: 'When the data of an inactive volume is deleted.' }),
    name: z.string().nullable(),
    statusReason: z.string().nullable().meta({ description: 'Why it has its `status`, as text.' }),
    growingToGb: positiveInt.nullable().meta({
      description:
        'The size after a resize in progress. It applies, also to the price, when `sizeInGb` has this value.',
    }),
    restoring: z
      .object({
        snapshotId,
        storageVolumeId: positiveInt.meta({ description: 'The volume of the snapshot.' }),
        deadline: timestamp.meta({ description: 'The restore fails if it is not complete by then.' }),
      })
      .nullable()
      .meta({ description: 'The snapshot that is being restored into this volume; otherwise null.' }),
    liveCostPerHourNanoUsd: livePrice('Its price per hour in live mode.'),
  })
  .meta({ id: 'StorageVolumeDetail' });

const snapshot = z
  .object({
    id: snapshotId,
    storageVolumeId: positiveInt,
    label: z.string(),
    status: z.enum(['creating', 'ready', 'failed', 'deleting']),
    sizeInGb: z.int().nonnegative(),
    volumeSizeInGb: positiveInt.meta({
      description:
        'The size of the volume when the snapshot was taken. A new volume restored from it is at least as large.',
    }),
    costPerHour: z.number().nonnegative(),
    liveCostPerHourNanoUsd: livePrice('Its price per hour in live mode, once it is ready.'),
    createdAt: timestamp,
  })
  .meta({ id: 'Snapshot' });

const volumeQuote = z
  .object({
    costPerHour: z.number().nonnegative(),
    costPerHourNanoUsd: nanoUsd.meta({ description: 'The exact price in nano-USD, which its meter uses.' }),
    costPer30DaysNanoUsd: nanoUsd,
    liveCostPerHourNanoUsd: livePrice('The price per hour in live mode.'),
    liveCostPer30DaysNanoUsd: livePrice('The price of 30 days in live mode.'),
    holdNanoUsd: nanoUsd.meta({ description: 'The amount that create takes out of the available balance.' }),
  })
  .meta({ id: 'StorageVolumeQuote' });

export const volumeExtensions = {
  quoteStorageVolume: alphaOperation('GET /v2/alpha/on-demand/storage-volumes/quote', {
    scope: 'catalog:read',
    summary: 'Quote the price of a volume',
    description: 'At current prices. It reserves nothing.',
    tags: ['volumes'],
    query: z.object({
      region: volumeRegion,
      sizeInGb: z.coerce.number().int().min(256).max(64_000).multipleOf(256),
    }),
    response: { status: 200, schema: volumeQuote },
  }),
  detachStorageVolume: alphaOperation('POST /v2/alpha/on-demand/storage-volumes/detach', {
    scope: 'volumes:write',
    summary: 'Detach a volume from rentals',
    tags: ['volumes'],
    body: z
      .object({ storageVolumeId: positiveInt, rentalIds: z.array(z.int()).min(1).max(1000) })
      .meta({ id: 'StorageVolumeDetach' }),
    response: {
      status: 200,
      schema: z
        .object({
          storageVolumeId: positiveInt,
          detachedRentalIds: z.array(positiveInt),
          message: z.string(),
        })
        .meta({ id: 'StorageVolumeDetached' }),
    },
    idempotency: 'key',
    notFoundReason: 'VOLUME_NOT_FOUND',
  }),
  getStorageVolume: alphaOperation('GET /v2/alpha/on-demand/storage-volumes/{storageVolumeId}', {
    scope: 'volumes:read',
    summary: 'Read a volume',
    description: 'Also works for a deleted volume while its data is kept.',
    tags: ['volumes'],
    params: volumeParams,
    response: { status: 200, schema: volumeDetail },
    notFoundReason: 'VOLUME_NOT_FOUND',
  }),
  updateStorageVolume: alphaOperation('PATCH /v2/alpha/on-demand/storage-volumes/{storageVolumeId}', {
    scope: 'volumes:write',
    summary: 'Change the label of a volume or grow it',
    tags: ['volumes'],
    params: volumeParams,
    body: z
      .object({
        label: volumeLabel.optional(),
        sizeInGb: volumeSizeInGb
          .multipleOf(256)
          .optional()
          .meta({ description: 'At least the current size.' }),
        tags: tags.optional(),
      })
      .meta({ id: 'StorageVolumeUpdate' }),
    response: { status: 200, schema: volumeDetail },
    refuses: [402, 409, 422],
    notFoundReason: 'VOLUME_NOT_FOUND',
  }),
  deleteStorageVolume: alphaOperation('DELETE /v2/alpha/on-demand/storage-volumes/{storageVolumeId}', {
    scope: 'volumes:write',
    summary: 'Delete a volume; its data is kept for the retention period',
    description: 'Deleting twice returns the same result. Deleting an attached volume is refused with 409.',
    tags: ['volumes'],
    params: volumeParams,
    response: { status: 202, schema: volumeDetail },
    refuses: [409],
    notFoundReason: 'VOLUME_NOT_FOUND',
  }),
  createStorageVolumeSnapshot: alphaOperation(
    'POST /v2/alpha/on-demand/storage-volumes/{storageVolumeId}/snapshots',
    {
      scope: 'volumes:write',
      summary: 'Take a snapshot of a volume',
      tags: ['volumes'],
      params: volumeParams,
      body: z.object({ label: volumeLabel.optional() }).meta({ id: 'SnapshotCreate' }),
      response: { status: 202, schema: snapshot },
      refuses: [402],
      idempotency: 'key',
      notFoundReason: 'VOLUME_NOT_FOUND',
    },
  ),
  listStorageVolumeSnapshots: alphaOperation(
    'GET /v2/alpha/on-demand/storage-volumes/{storageVolumeId}/snapshots',
    {
      scope: 'volumes:read',
      summary: 'List the snapshots of a volume, newest first',
      tags: ['volumes'],
      params: volumeParams,
      query: pageQuery,
      response: { status: 200, schema: pageOf(snapshot) },
      notFoundReason: 'VOLUME_NOT_FOUND',
    },
  ),
  deleteStorageVolumeSnapshot: alphaOperation(
    'DELETE /v2/alpha/on-demand/storage-volumes/{storageVolumeId}/snapshots/{snapshotId}',
    {
      scope: 'volumes:write',
      summary: 'Delete a snapshot',
      tags: ['volumes'],
      params: z.object({ storageVolumeId: wireId, snapshotId }),
      response: noContent,
      refuses: [409],
      notFoundReason: 'SNAPSHOT_NOT_FOUND',
    },
  ),
  restoreStorageVolumeSnapshot: alphaOperation(
    'POST /v2/alpha/on-demand/storage-volumes/{storageVolumeId}/snapshots/{snapshotId}/restore',
    {
      scope: 'volumes:write',
      summary: 'Restore a snapshot into a new volume, or into its own volume if it is not attached',
      description:
        'Into a new volume: it is created on the storage node of the snapshot, is `inactive` until it has the content of the snapshot, and is billed like any other volume once it is `active`. Into the same volume: everything written since the snapshot is lost. The volume is `inactive` during the restore, keeps its price, and is `active` again with the content of the snapshot, or with its old content if the restore failed.',
      tags: ['volumes'],
      params: z.object({ storageVolumeId: wireId, snapshotId }),
      body: z
        .object({
          into: z.enum(['new-volume', 'same-volume']),
          label: volumeLabel
            .optional()
            .meta({ description: 'The label of the new volume, which needs one.' }),
          sizeInGb: volumeSizeInGb.multipleOf(256).optional().meta({
            description:
              'The size of the new volume, at least `volumeSizeInGb` of the snapshot, which is the default.',
          }),
          ...volumeAdditions,
        })
        .meta({ id: 'SnapshotRestore' }),
      response: { status: 202, schema: volumeDetail },
      refuses: [402, 409],
      idempotency: 'key',
      notFoundReason: 'SNAPSHOT_NOT_FOUND',
    },
  ),
} as const;
