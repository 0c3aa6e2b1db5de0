import { toUuid, type OrgId } from '../ids/index.ts';

/** The number of shards. Fixed, because a row keeps its shard. */
export const outboxShards = 64;

/** The low six bits of the organisation's id, which are random, so that organisations spread evenly. */
export function shardOf(orgId: OrgId): number {
  return Number.parseInt(toUuid(orgId).slice(-2), 16) & (outboxShards - 1);
}
