export { recordLeaseMetrics } from './lender/lease-metrics.ts';
export { leaseRules, serveCreditLeases } from './lender/serve-credit-leases.ts';
export { startClosingAllLeases, listUnrecordedLeases, stopAdmission } from './lender/leases-after-restore.ts';
export type { UnrecordedLease } from './lender/leases-after-restore.ts';
export {
  countDeferredAttempt,
  deferUsage,
  deleteDeferred,
  groupKeyOf,
  listDeferred,
  listDeferredGroupKeys,
  listDueGroups,
  lockDeferred,
  type DeferredRow,
  type DeferredUsage,
  type DeferredGroup,
} from './lender/deferred-usage.store.ts';
export { recordEpochEnd } from './lender/lease-holders.store.ts';
export {
  advanceUsageWatermark,
  findCharges,
  lockUsageWatermark,
  readArchiveCutoff,
  type RecordedCharge,
} from './lender/usage-charges.store.ts';
export { postUsage, readHighestWatermark, readUsageWatermarks } from './lender/usage-charges.service.ts';
export type { PostedUsage } from './lender/usage-charges.service.ts';
export type { UsageItem, UsagePostOutcome } from './lender/usage-charges.ts';
export { createCreditLeaseService, type CreditLeaseService } from './lender/leases.service.ts';
export { createCreditLeaseSweeps } from './lender/leases.sweeps.ts';
export type { ChargeUnfinished, CreditLeaseSweeps } from './lender/leases.sweeps.ts';
export type { LeaseRules } from './lender/lease-ledger.ts';
