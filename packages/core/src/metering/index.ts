export {
  changeMeters,
  closeMeter,
  costsOf,
  meterCost,
  openMeters,
  pauseMeter,
  resumeMeter,
  type ClosedMeter,
  type MeterAct,
  type MeterFunding,
  type MeterWish,
} from './metering.service.ts';
export { costAt, elapsedAt, owedAt, unpostedAt, type Meter, type MeterState } from './metering.ts';
export type { RestOfTerm } from './plans.ts';
export { listMetersOf } from './meters.store.ts';
export { sweepDueShards, sweepMeters, type SweepOptions, type SweepReport } from './sweep.service.ts';
export {
  cancelEnds,
  claimActions as claimRequiredActions,
  completeAction as completeRequiredAction,
  listActions as listRequiredActions,
  readBurn as burnOf,
  requireEnds,
  type RequiredAction,
} from './ladder.store.ts';
export { defaultPolicy, ladderRungs, type LadderStep, type MeteringPolicy } from './policy.ts';
