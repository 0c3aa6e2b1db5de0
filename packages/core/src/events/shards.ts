import { floorDivide } from '@millrace/platform/money';

/** A shard that this relay holds, with its fence. */
export interface ShardLease {
  readonly shard: number;
  readonly fence: bigint;
}

export interface ShardShare {
  /** Shards to release for other relays. */
  readonly surplus: readonly number[];
  readonly missing: number;
}

/**
 * The change that one of `relaysAlive` relays makes to its shards. Every relay may hold the same number, rounded up, so
 * together they can hold all shards even while their counts of relays differ.
 */
export function computeShardShare(input: {
  readonly held: readonly number[];
  readonly shardCount: number;
  readonly relaysAlive: number;
}): ShardShare {
  const fair = floorDivide(input.shardCount, Math.max(1, input.relaysAlive));
  const held = input.held.toSorted((a, b) => a - b);
  return { surplus: held.slice(fair), missing: Math.max(0, fair - held.length) };
}
