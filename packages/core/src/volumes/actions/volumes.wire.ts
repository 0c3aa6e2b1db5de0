import type { ResponseBody, Contract } from '@millrace/contract';
import { toUuid } from '@millrace/platform/ids';
import { toNearestUsdNumber } from '@millrace/platform/money';
import { rateOf } from '../../prices/index.ts';
import {
  priceOf30Days,
  type SnapshotRecord,
  type VolumeDetail,
  type VolumeQuote,
  type VolumeRecord,
} from './volume-queries.service.ts';
import type { Snapshot, Volume } from '../model/volume.ts';
import type { VolumeWriteOff } from './write-off.service.ts';

type Operations = Contract['operations'];
export type WireVolume = ResponseBody<Operations['listStorageVolumes']>[number];
export type WireVolumeDetail = ResponseBody<Operations['updateStorageVolume']>;
export type WireCreated = ResponseBody<Operations['createStorageVolume']>;
export type WireSnapshot = ResponseBody<Operations['createStorageVolumeSnapshot']>;

const timeOf = (at: Date | null): string | null => at?.toISOString() ?? null;

/** Only regions of the contract were accepted. */
const regionOf = ({ region }: Volume): WireVolume['region'] => region as WireVolume['region'];

export function toWireVolume({ volume, rentalIds }: VolumeRecord): WireVolume {
  return {
    id: volume.wireId,
    createdAt: volume.createdAt.toISOString(),
    updatedAt: timeOf(volume.updatedAt),
    deletedAt: timeOf(volume.deletedAt),
    userId: volume.userId,
    orgId: volume.orgId,
    startedAt: timeOf(volume.startedAt),
    terminatedAt: timeOf(volume.endAcceptedAt),
    externalId: toUuid(volume.id),
    sizeGb: volume.sizeGb,
    label: volume.label,
    costPerHour: toNearestUsdNumber(rateOf(volume.price)),
    region: regionOf(volume),
    storageVolumeId: volume.wireId,
    meta: volume.endReason === null ? {} : { termination_reason: volume.endReason },
    status: volume.status,
    attachedRentals: [...rentalIds],
    sizeInGb: volume.sizeGb,
    vip: volume.vip,
  };
}

export function toWireDetail(record: VolumeDetail): WireVolumeDetail {
  const { volume } = record;
  return {
    ...toWireVolume(record),
    tags: { ...volume.tags },
    purgeAt: timeOf(volume.purgeAt),
    name: volume.name,
    statusReason: volume.statusReason,
    growingToGb: volume.growth?.toGb ?? null,
    restoring: restoringOf(record),
    ...(record.livePerHour === null ? {} : { liveCostPerHourNanoUsd: String(record.livePerHour) }),
  };
}

function restoringOf({ volume: { restore }, sourceWireId }: VolumeDetail): WireVolumeDetail['restoring'] {
  if (restore === null || sourceWireId === null) return null;
  const { snapshotId, by } = restore;
  return { snapshotId, storageVolumeId: sourceWireId, deadline: by.toISOString() };
}

export function toWireCreated({ volume, rentalIds }: VolumeRecord): WireCreated {
  return {
    storageVolumeId: volume.wireId,
    region: regionOf(volume),
    status: volume.status,
    label: volume.label,
    sizeInGb: volume.sizeGb,
    attachedRentals: [...rentalIds],
    message: `Volume ${volume.wireId} is being created and will be active soon.`,
  };
}

export function toWireSnapshot(
  snapshot: Snapshot & Partial<Pick<SnapshotRecord, 'livePerHour'>>,
  storageVolumeId: number,
): WireSnapshot {
  const { status, livePerHour = null } = snapshot;
  // Deleted snapshots are not shown.
  if (status === 'deleted') throw new Error(`Snapshot ${snapshot.id} is deleted and cannot be shown.`);
  return {
    id: snapshot.id,
    storageVolumeId,
    label: snapshot.label,
    status,
    sizeInGb: snapshot.sizeGb,
    volumeSizeInGb: snapshot.volumeGb,
    // Only a ready snapshot is billed.
    costPerHour: status === 'ready' ? toNearestUsdNumber(rateOf(snapshot.price)) : 0,
    ...(livePerHour !== null && { liveCostPerHourNanoUsd: String(livePerHour) }),
    createdAt: snapshot.createdAt.toISOString(),
  };
}

export function toWireQuote({
  perHour,
  hold,
  livePerHour,
}: VolumeQuote): ResponseBody<Operations['quoteStorageVolume']> {
  return {
    costPerHour: toNearestUsdNumber(perHour),
    costPerHourNanoUsd: String(perHour),
    costPer30DaysNanoUsd: String(priceOf30Days(perHour)),
    holdNanoUsd: String(hold),
    ...(livePerHour === null
      ? {}
      : {
          liveCostPerHourNanoUsd: String(livePerHour),
          liveCostPer30DaysNanoUsd: String(priceOf30Days(livePerHour)),
        }),
  };
}

export function toWireWriteOff(done: VolumeWriteOff): ResponseBody<Operations['adminWriteOffVolume']> {
  const { volume, billingStoppedAt, finalCost, detachedRentalIds } = done;
  return {
    storageVolumeId: volume.wireId,
    billingStoppedAt: timeOf(billingStoppedAt),
    finalCost: { amountUsd: toNearestUsdNumber(finalCost), nanoUsd: String(finalCost) },
    detachedRentalIds: [...detachedRentalIds],
  };
}
