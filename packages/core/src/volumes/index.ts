export { listSharedAddresses } from './attachments.store.ts';
export { createBackendPool, type BackendPool } from './backends.ts';
export { createVolumeReconciler, type VolumeReconcileDeps } from './converge.ts';
export {
  attachAtCreate,
  detachRental,
  isAddressStillServed,
  lockStorage,
  readAttachedVolumesOf,
  readOrderedStorage,
  bumpSpecVersionsOfRental,
  type AttachedVolume,
  type AttachingRental,
  type OrderedStorage,
  type StorageChoice,
} from './for-rentals.service.ts';
export { readKeyRunningTotals, type KeyRunningTotals } from './key-load.store.ts';
export { freezeUnpaid } from './ladder.service.ts';
export { defaultVolumePolicy, type VolumePolicy } from './policy.ts';
export { applyStorageConfig } from './storage-config.ts';
export { serveVolumes, type VolumeRoutes } from './volumes.routes.ts';
export { createNodeChecker, checkDueNodes } from './watch.service.ts';
