export { createStatusMonitor, type StatusMonitor, type StatusMonitorDeps } from './status-monitor.ts';
export type { ComponentState, PublicStatus } from './public-status.ts';
