export type { Clock } from './clock.ts';
export { systemClock } from './system-clock.ts';
export { SimulatedClock } from './simulated-clock.ts';
export { DeadlineError, withDeadline } from './deadline.ts';
