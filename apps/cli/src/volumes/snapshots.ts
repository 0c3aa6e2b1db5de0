/** What `--json` prints of a snapshot. */
export const snapshotFields = [
  'id',
  'storageVolumeId',
  'label',
  'status',
  'sizeInGb',
  'costPerHour',
  'createdAt',
] as const;
