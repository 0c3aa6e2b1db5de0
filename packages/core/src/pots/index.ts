export { createPotClient } from './pot-client.ts';
export type { PotClientOptions } from './pot-client.ts';
export type { Lack, PotClient, Refusal, Reservation, ReserveAsk } from './purse.ts';
export type { RequestLimit } from './request-limits.ts';
export { askForLease, askForRecall, publishEpochEnd } from './pot-messages.ts';
export { leaseRules, servePots } from './serve-pots.ts';
export { endLeases, listLostLeases, stopPots, type LostLease } from './leases-after-restore.ts';
export type { ServePotsOptions } from './serve-pots.ts';
export { lockUsage, noteEpochEnd, passUsage, postUsage, readFurthest, readPlaces } from './usage.service.ts';
export type { PostedUsage } from './usage.service.ts';
export type { UsageItem, UsageVerdict } from './usage.ts';
export { epochEndSchema, toMessage, type EpochEnd, type LeaseReply, type LeaseRequest } from './messages.ts';
export { createPotService, type PotService, type PotServiceOptions } from './pots.service.ts';
export {
  createPotSweeps,
  type ChargeUnfinished,
  type PotSweeps,
  type PotSweepOptions,
} from './pots.sweeps.ts';
export type { LeaseRules } from './lease-book.ts';
