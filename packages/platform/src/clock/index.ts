export { backoffMs } from './backoff.ts';
export type { Clock, Timer } from './clock.ts';
export { ClockGuard, ClockSkewError, type ClockGuardOptions } from './clock-guard.ts';
export { RemoteClock, type ClockReading, type Skew } from './remote-clock.ts';
export { systemClock } from './system-clock.ts';
export { SimulatedClock } from './simulated-clock.ts';
export { DeadlineError, withDeadline } from './deadline.ts';
