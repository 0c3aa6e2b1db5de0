export { createLifecycle } from './lifecycle.ts';
export type { DrainPhase, Lifecycle, LifecycleOptions } from './lifecycle.ts';
export { NotReadyError } from './health.ts';
export type { HealthReport, LifecycleState, ReadinessCheck } from './health.ts';
export { installSignalHandlers } from './signals.ts';
export {
  createHealthHandler,
  serveHealth,
  startHealthServer,
  type HealthHandler,
  type HealthOptions,
} from './health-server.ts';
export { startLoop, type Loop, type LoopOptions, type StartLoop } from './loop.ts';
export { nodeFlags } from './node-flags.ts';
