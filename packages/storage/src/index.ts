export type { VolumeBackend, VolumeView, VolumeWish } from './backend.ts';
export { connectVolumeBackend, type BackendParts, type BackendReach } from './connect.ts';
export { exportPath } from './wire.ts';
