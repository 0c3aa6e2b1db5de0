export { serverPrograms } from './bundle-server.ts';
export { containerSettings } from './container-settings.ts';
export { debianRootfs, requireRootfs } from './debian-rootfs.ts';
export { makeRelease } from './make-release.ts';
export { stageServer, type StagedServer } from './stage-server.ts';
export { alertRules, inFastTime, renderRules, type AlertRule } from './monitoring/alerts/index.ts';
