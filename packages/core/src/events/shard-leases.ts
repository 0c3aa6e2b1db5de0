import type { Db } from '@millrace/platform/db';
import { outboxShards } from '@millrace/platform/outbox';
import {
  registerRelay,
  setRelayIdleTimeout,
  claimLeases,
  releaseLeases,
  renewLeases,
  unregisterRelay,
} from './shard-leases.store.ts';
import { computeShardShare, type ShardLease } from './shards.ts';

export interface ShardLeases {
  /** The leases as of the last renewal. Every write checks them again in the database. */
  held(): readonly ShardLease[];
  /** Renews leases, releases surplus shards and claims missing ones. Call it well within the TTL. */
  keep(): Promise<void>;
  release(): Promise<void>;
}

/** Well within the TTL, and longer than a process pauses on a busy machine. */
const longestPauseMs = (ttlMs: number): number => Math.max(1_000, Math.floor(ttlMs * 0.3));

export function createShardLeases(options: { db: Db; holder: string; ttlMs: number }): ShardLeases {
  const { db, ...relay } = options;
  let held: readonly ShardLease[] = [];
  return {
    held: () => held,
    keep: async () => {
      held = await db.transaction({ name: 'keep relay leases', isolation: 'read committed' }, async (tx) => {
        await setRelayIdleTimeout(tx, longestPauseMs(relay.ttlMs));
        const relaysAlive = await registerRelay(tx, relay);
        const renewed = await renewLeases(tx, relay);
        const share = computeShardShare({
          held: renewed.map((lease) => lease.shard),
          shardCount: outboxShards,
          relaysAlive,
        });
        await releaseLeases(tx, relay.holder, share.surplus);
        const claimed = share.missing === 0 ? [] : await claimLeases(tx, relay, share.missing);
        const surplus = new Set(share.surplus);
        return [...renewed.filter((lease) => !surplus.has(lease.shard)), ...claimed];
      });
    },
    release: async () => {
      held = [];
      await db.transaction({ name: 'release relay leases', isolation: 'read committed' }, (tx) =>
        unregisterRelay(tx, relay.holder),
      );
    },
  };
}
