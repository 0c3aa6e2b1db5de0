export { createLifecycle } from './lifecycle.ts';
export type { DrainPhase, Lifecycle, LifecycleOptions, LifecycleState } from './lifecycle.ts';
export type { HealthReport, ReadinessCheck } from './health.ts';
export { installSignalHandlers } from './signals.ts';
export { serveHealth, startHealthServer } from './health-server.ts';
export { startLoop, type Loop, type LoopOptions } from './loop.ts';
