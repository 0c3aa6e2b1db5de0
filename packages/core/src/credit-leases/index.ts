export { leaseRules, serveCreditLeases } from './lender/serve-credit-leases.ts';
export {
  startClosingAllLeases,
  listUnrecordedLeases,
  stopAdmission,
  type UnrecordedLease,
} from './lender/leases-after-restore.ts';
export type { ServeCreditLeasesOptions } from './lender/serve-credit-leases.ts';
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
export {
  lockUsageWatermark,
  recordEpochEnd,
  advanceUsageWatermark,
  postUsage,
  readHighestWatermark,
  readUsageWatermarks,
} from './lender/usage-charges.service.ts';
export type { PostedUsage } from './lender/usage-charges.service.ts';
export type { UsageItem, UsagePostOutcome } from './lender/usage-charges.ts';
export {
  createCreditLeaseService,
  type CreditLeaseService,
  type CreditLeaseServiceOptions,
} from './lender/leases.service.ts';
export {
  createCreditLeaseSweeps,
  type ChargeUnfinished,
  type CreditLeaseSweeps,
  type CreditLeaseSweepOptions,
} from './lender/leases.sweeps.ts';
export type { LeaseRules } from './lender/lease-ledger.ts';
