/** What `--json` prints of a snapshot. */
export const snapshotFields = [
  'id',
  'storageVolumeId',
  'label',
  'status',
  'sizeInGb',
  'volumeSizeInGb',
  'costPerHour',
  'createdAt',
] as const;
