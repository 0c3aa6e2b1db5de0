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
  listRequiredActions,
  readBurnRate,
  requireTerminations,
  type RequiredAction,
} from './dunning.store.ts';
export { hasRecovered, runRequiredActions, type RequiredActionSweep } from './required-actions.service.ts';
export {
  defaultMeteringPolicy,
  HOLD_WINDOW_MS,
  RETENTION_DIVISOR,
  RETENTION_MS,
  type DunningLevel,
  type MeteringPolicy,
} from './policy.ts';
export {
  holdFor,
  holdForOrder,
  holdForRetention,
  insufficientBalance,
  type BilledResource,
} from './holds.service.ts';
export { costIfEndedAt, limitReachedAt } from './spending-limit.ts';
