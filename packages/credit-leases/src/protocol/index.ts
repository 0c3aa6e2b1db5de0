export { limitSetOf, type RequestLimit } from './request-limits.ts';
export { createLeaseRequester, createRecallRequester, createEpochEndPublisher } from './lease-requests.ts';
export {
  epochEndSchema,
  epochEndSubjects,
  leaseRequestSchema,
  leaseSubjects,
  recallRequestSchema,
  toJsonMessage,
  type BudgetRemainder,
  type EpochEnd,
  type LeaseReply,
  type LeaseRequest,
  type RecallRequest,
} from './lease-messages.ts';
export { gatewayLeaseGrants, workerLeaseGrants } from './lease-grants.ts';
export { maxPerLease, type LeaseServer } from './lease-scripts.ts';
export {
  ValkeyLeases,
  deleteOldLeases,
  isServerReady,
  leaseKeys,
  prepareServer,
  readIncarnation,
  scanLeaseKeys,
  valkeyLeaseKey,
  type EnlargeResult,
  type LeaseGrant,
  type OpenResult,
} from './valkey-leases.ts';
