export { listSharedAddresses } from './attachments.store.ts';
export { createBackendPool, type BackendPool } from './backends.ts';
export { createConverger, type ConvergeParts } from './converge.ts';
export {
  attachAtCreate,
  detachRental,
  isStillServed,
  lockStorage,
  readAttached,
  readOrderedStorage,
  touchVolumesOf,
  type AttachedVolume,
  type AttachingRental,
  type OrderedStorage,
  type StorageChoice,
} from './for-rentals.service.ts';
export { readKeyLoad, type KeyLoad } from './key-load.store.ts';
export { freezeUnpaid } from './ladder.service.ts';
export { defaultVolumePolicy, type VolumePolicy } from './policy.ts';
export { applyStorageConfig } from './storage-config.ts';
export { serveVolumes, type VolumeRoutes } from './volumes.routes.ts';
export { createNodeWatch, lookAtNodes } from './watch.service.ts';
