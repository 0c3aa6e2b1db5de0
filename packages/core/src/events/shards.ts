import { floorDivide } from '@millrace/platform/money';

/** A shard this relay may work, and the fence under which it got it. */
export interface ShardLease {
  readonly shard: number;
  readonly fence: bigint;
}

export interface ShardShare {
  /** Shards to give back, so that others find theirs. */
  readonly surplus: readonly number[];
  /** How many more to claim. */
  readonly missing: number;
}

/**
 * What one of `relaysAlive` relays should do about the shards it holds. Every relay may hold the same number,
 * rounded up, so together they can always hold all shards, and none waits for another to count exactly right.
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
