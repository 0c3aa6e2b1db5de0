import { toUuid, type OrgId } from '../ids/index.ts';

/** How many ways the outbox is divided. Fixed: a row keeps the shard it was written with. */
export const outboxShards = 64;

/** The low six bits of the organisation's id, which are random, so organisations spread evenly. */
export function shardOf(orgId: OrgId): number {
  return Number.parseInt(toUuid(orgId).slice(-2), 16) & (outboxShards - 1);
}
