export type { VolumeBackend, VolumeView, VolumeSpec } from './backend.ts';
export { connectVolumeBackend, type BackendDeps, type BackendConnectionOptions } from './connect.ts';
export { exportPath } from './wire.ts';
