import type { Context } from '../framework/context.ts';
import type { Column } from '../framework/output.ts';
import { liveColumn } from '../money/mode.ts';
import { relativeText, perHourText } from '@millrace/sdk/text';
import type { Output } from '../sdk.ts';
import type { Volume } from './find.ts';

export function volumeColumns(context: Context): readonly Column<Volume>[] {
  const now = context.clock.now().getTime();
  return [
    { name: 'id', value: ({ id }) => id, align: 'right' },
    { name: 'label', value: ({ label }) => label },
    { name: 'status', value: ({ status }) => status },
    { name: 'size', value: ({ sizeInGb }) => `${sizeInGb} GB`, align: 'right' },
    { name: 'region', value: ({ region }) => region },
    { name: 'address', value: ({ vip }) => vip },
    { name: 'rentals', value: ({ attachedRentals }) => attachedRentals.join(', ') },
    { name: 'price', value: ({ costPerHour }) => perHourText(costPerHour), align: 'right' },
    { name: 'created', value: ({ createdAt }) => relativeText(createdAt, now), extra: true },
  ];
}

export function volumeDetailColumns(context: Context): readonly Column<Output<'getStorageVolume'>>[] {
  return [
    ...volumeColumns(context),
    liveColumn(context, ({ liveCostPerHourNanoUsd }) => liveCostPerHourNanoUsd),
    { name: 'why', value: ({ statusReason }) => statusReason },
    {
      name: 'grows to',
      value: ({ growingToGb }) => (growingToGb === null ? '' : `${growingToGb} GB`),
    },
    { name: 'restoring', value: ({ restoring }) => restoring?.snapshotId ?? '' },
    { name: 'kept until', value: ({ purgeAt }) => purgeAt },
  ];
}
