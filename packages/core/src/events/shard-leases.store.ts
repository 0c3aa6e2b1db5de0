import type { Db, Tx } from '@millrace/platform/db';
import { outboxShards } from '@millrace/platform/outbox';
import { sql } from 'kysely';
import type { ShardLease } from './shards.ts';

/** Makes PostgreSQL abort this transaction if the process pauses in it, so that a frozen relay frees its row locks. */
export async function setRelayIdleTimeout(tx: Tx, longestMs: number): Promise<void> {
  await sql`select set_config('idle_in_transaction_session_timeout', ${String(longestMs)}, true)`.execute(
    tx.kysely,
  );
}

/** Registers this relay as alive and returns the number of relays that are, itself included. */
export async function registerRelay(tx: Tx, relay: { holder: string; ttlMs: number }): Promise<number> {
  await sql`
    insert into relays (holder, expires_at)
    values (${relay.holder}, clock_timestamp() + ${relay.ttlMs} * interval '1 millisecond')
    on conflict (holder) do update set expires_at = excluded.expires_at
  `.execute(tx.kysely);
  const { rows } = await sql<{ alive: bigint }>`
    select count(*) as alive from relays where expires_at > clock_timestamp()
  `.execute(tx.kysely);
  return Number(rows[0]?.alive ?? 0n);
}

/** Renews unexpired leases. An expired lease is not revived: it is claimed again under a new fence. */
export async function renewLeases(tx: Tx, relay: { holder: string; ttlMs: number }): Promise<ShardLease[]> {
  const { rows } = await sql<ShardLease>`
    with mine as (
      select shard from relay_leases
       where holder = ${relay.holder} and expires_at > clock_timestamp()
       order by shard for update
    )
    update relay_leases lease
       set expires_at = clock_timestamp() + ${relay.ttlMs} * interval '1 millisecond'
      from mine
     where lease.shard = mine.shard
    returning lease.shard, lease.fence
  `.execute(tx.kysely);
  return rows;
}

/** Claims up to `count` free shards. Each change of holder increments the fence. */
export async function claimLeases(
  tx: Tx,
  relay: { holder: string; ttlMs: number },
  count: number,
): Promise<ShardLease[]> {
  const { rows } = await sql<ShardLease>`
    insert into relay_leases as lease (shard, holder, fence, expires_at)
    select free.shard, ${relay.holder}, 1, clock_timestamp() + ${relay.ttlMs} * interval '1 millisecond'
      from (select shard
              from generate_series(0, ${outboxShards - 1}::int) as every (shard)
             where not exists (select 1 from relay_leases taken
                                where taken.shard = every.shard and taken.expires_at > clock_timestamp())
             order by shard
             limit ${count}) as free
     order by free.shard
    on conflict (shard) do update
       set holder = excluded.holder, fence = lease.fence + 1, expires_at = excluded.expires_at
     where lease.expires_at <= clock_timestamp()
    returning shard, fence
  `.execute(tx.kysely);
  return rows;
}

/** Releases shards early, if this relay still holds them. */
export async function releaseLeases(tx: Tx, holder: string, shards: readonly number[]): Promise<void> {
  if (shards.length === 0) return;
  await sql`
    update relay_leases set expires_at = clock_timestamp()
     where holder = ${holder} and shard = any(${shards}::smallint[]) and expires_at > clock_timestamp()
  `.execute(tx.kysely);
}

/** Frees all shards of a relay at once, and removes it from the count of the others. */
export async function unregisterRelay(tx: Tx, holder: string): Promise<void> {
  await sql`
    update relay_leases set expires_at = clock_timestamp()
     where holder = ${holder} and expires_at > clock_timestamp()
  `.execute(tx.kysely);
  await sql`delete from relays where holder = ${holder}`.execute(tx.kysely);
}

/** Rows of crashed relays stay for a while, so that operators can see them. */
export async function deleteDeadRelays(db: Db, olderThanMs: number): Promise<void> {
  await sql`
    delete from relays where expires_at < clock_timestamp() - ${olderThanMs} * interval '1 millisecond'
  `.execute(db.kysely);
}
