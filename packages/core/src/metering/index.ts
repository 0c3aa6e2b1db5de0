export {
  changeMeters,
  closeMeter,
  readCosts,
  readMeterCost,
  openMeters,
  pauseMeter,
  resumeMeter,
  type ClosedMeter,
  type MeterChange,
  type MeterFunding,
  type MeterSpec,
} from './metering.service.ts';
export { costAt, elapsedAt, owedAt, unpostedAt, type Meter, type MeterState } from './meter.ts';
export type { RemainingTermCharge } from './meter-plans.ts';
export { listMetersOf } from './meters.store.ts';
export { sumSupplierAccrual, suppliedResources } from './supplier-meters.store.ts';
export { sweepDueShards, sweepMeters, type SweepOptions, type SweepReport } from './sweep.service.ts';
export {
  cancelSuspensionActions,
  claimRequiredActions,
  completeRequiredAction,
  listRequiredActions,
  readBurnRate,
  requireTerminations,
  type RequiredAction,
} from './dunning.store.ts';
export {
  defaultMeteringPolicy,
  dunningThresholds,
  type DunningLevel,
  type MeteringPolicy,
} from './policy.ts';
