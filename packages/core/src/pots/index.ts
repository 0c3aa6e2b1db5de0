export { createCreditLeaseClient } from './pot-client.ts';
export type { CreditLeaseClientOptions } from './pot-client.ts';
export type {
  InsufficientFunds,
  CreditLeaseClient,
  ReserveRefusal,
  Reservation,
  ReserveRequest,
} from './purse.ts';
export type { RequestLimit } from './request-limits.ts';
export { createLeaseRequester, createRecallRequester, createEpochEndPublisher } from './pot-messages.ts';
export { leaseRules, serveCreditLeases } from './serve-pots.ts';
export {
  startClosingAllLeases,
  listUnrecordedLeases,
  stopAdmission,
  type UnrecordedLease,
} from './leases-after-restore.ts';
export type { ServeCreditLeasesOptions } from './serve-pots.ts';
export {
  lockUsageWatermark,
  recordEpochEnd,
  advanceUsageWatermark,
  postUsage,
  readHighestWatermark,
  readUsageWatermarks,
} from './usage.service.ts';
export type { PostedUsage } from './usage.service.ts';
export type { UsageItem, UsagePostOutcome } from './usage.ts';
export {
  epochEndSchema,
  toJsonMessage,
  type EpochEnd,
  type LeaseReply,
  type LeaseRequest,
} from './messages.ts';
export {
  createCreditLeaseService,
  type CreditLeaseService,
  type CreditLeaseServiceOptions,
} from './pots.service.ts';
export {
  createCreditLeaseSweeps,
  type ChargeUnfinished,
  type CreditLeaseSweeps,
  type CreditLeaseSweepOptions,
} from './pots.sweeps.ts';
export type { LeaseRules } from './lease-book.ts';
