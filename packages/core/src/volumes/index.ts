export { isAddressStillServed, listSharedAddresses } from './model/attachments.store.ts';
export { volumeLabels } from './model/volume-fragments.store.ts';
export { createBackendPool, type BackendPool } from './model/backend-pool.ts';
export { createVolumeReconciler, type VolumeDeps } from './reconcile/reconcile-volume.ts';
export {
  attachAtCreate,
  detachRental,
  lockStorage,
  readAttachedVolumesOf,
  readOrderedStorage,
  bumpSpecVersionsOfRental,
  type AttachedVolume,
  type AttachingRental,
  type OrderedStorage,
  type StorageChoice,
} from './actions/rental-storage.service.ts';
export { readKeyRunningTotals, type KeyRunningTotals } from './money/key-running-totals.store.ts';
export { freezeUnpaid } from './actions/dunning.service.ts';
export { defaultVolumePolicy, type VolumePolicy } from './model/policy.ts';
export { listStorageNodes } from './model/storage-nodes.store.ts';
export type { StorageNode } from './model/storage-nodes.ts';
export { applyStorageConfig } from './model/storage-config.ts';
export { serveVolumes, type VolumeRoutes } from './actions/volumes.routes.ts';
export { createNodeChecker, checkDueNodes } from './reconcile/check-nodes.service.ts';
export { keyLimitExceeded, requireKeySpendLimit, requireMaxUsd } from './actions/volume-order.ts';
export { reconcileDueVolumes } from './reconcile/reconcile-volume.ts';
