import type { Db } from '@millrace/platform/db';
import type { Actor, Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type CellId, type EventId, type OrgId } from '@millrace/platform/ids';
import { sql, type RawBuilder } from 'kysely';
import { writtenApiVersion } from './events.ts';
import type { ShardLease } from './shards.ts';

/** The relay and its leases. Every statement checks them again by the database's clock. */
export interface LeaseProof {
  readonly holder: string;
  readonly leases: readonly ShardLease[];
}

/**
 * The shards of the proof that this relay still holds. `for share` keeps them until the statement ends. Like every
 * statement that locks leases, it locks in order of shard number, which prevents deadlocks.
 */
function heldShards(proof: LeaseProof, lock: RawBuilder<unknown>): RawBuilder<unknown> {
  const shards = proof.leases.map((lease) => lease.shard);
  const fences = proof.leases.map((lease) => lease.fence.toString());
  return sql`
    select lease.shard
      from relay_leases lease
      join unnest(${shards}::smallint[], ${fences}::bigint[]) as mine (shard, fence)
        on mine.shard = lease.shard and mine.fence = lease.fence
     where lease.holder = ${proof.holder} and lease.expires_at > clock_timestamp()
     order by lease.shard
     ${lock}`;
}

export interface WaitingShards {
  readonly eventShards: readonly number[];
  readonly commandShards: readonly number[];
}

/** A plain read, without the events of some organisations: an idle relay must not take even a lock. */
export async function findWaitingShards(
  db: Db,
  shards: readonly number[],
  without: readonly OrgId[],
): Promise<WaitingShards> {
  const { rows } = await sql<{ shard: number; events: boolean; commands: boolean }>`
    select mine.shard,
           exists (select 1 from outbox waiting
                    where waiting.shard = mine.shard and kind = 'event' and parked_at is null
                      and org_id <> all(${without.map(toUuid)}::uuid[])) as events,
           exists (select 1 from outbox waiting
                    where waiting.shard = mine.shard and kind = 'command' and parked_at is null
                      and coalesce(next_attempt_at <= clock_timestamp(), true)) as commands
      from unnest(${shards}::smallint[]) as mine (shard)
  `.execute(db.kysely);
  return {
    eventShards: rows.filter((row) => row.events).map((row) => row.shard),
    commandShards: rows.filter((row) => row.commands).map((row) => row.shard),
  };
}

/**
 * Numbers committed events and moves them from the outbox to the feed. Returns how many.
 * It is one statement, so a frozen relay cannot hold a half-done move. The share lock on the leases keeps a successor
 * out until the statement ends, heads are locked in order of their ids, and numbering, storing and deleting commit
 * together. So concurrent relays neither skip a number nor store an event twice.
 */
export async function moveEvents(
  db: Db,
  proof: LeaseProof,
  selection:
    | { readonly limitPerShard: number; readonly without?: readonly OrgId[] }
    | { readonly only: EventId },
): Promise<number> {
  const which =
    'only' in selection
      ? sql`and waiting.id = ${toUuid(selection.only)}`
      : sql`and waiting.org_id <> all(${(selection.without ?? []).map(toUuid)}::uuid[])
             order by waiting.seq limit ${selection.limitPerShard}`;
  const { rows } = await sql<{ stored: bigint; removed: bigint }>`
    with held as (${heldShards(proof, sql`for share of lease`)}),
    batch as (
      select taken.*
        from held cross join lateral (
          select waiting.*
            from outbox waiting
           where waiting.shard = held.shard and waiting.kind = 'event' and waiting.parked_at is null
             ${which}
             for update
        ) as taken
    ),
    grown as (
      insert into event_heads as head (org_id, last_seq)
      select org_id, count(*) from batch group by org_id order by org_id
      on conflict (org_id) do update set last_seq = head.last_seq + excluded.last_seq
      returning org_id, last_seq
    ),
    numbered as (
      select batch.*,
             row_number() over (partition by org_id order by seq) as nth,
             count(*) over (partition by org_id) as total
        from batch
    ),
    stored as (
      insert into events (org_id, seq, id, type, resource_kind, resource_id, mode, cell, shard, actor,
                          traceparent, schema_version, api_version, occurred_at, data)
      select org_id, grown.last_seq - total + nth, id, type, resource_kind, resource_id, mode, cell, shard, actor,
             traceparent, schema_version, ${writtenApiVersion}, occurred_at, payload
        from numbered join grown using (org_id)
      returning 1
    ),
    removed as (
      delete from outbox using batch where outbox.id = batch.id returning 1
    )
    select (select count(*) from stored) as stored, (select count(*) from removed) as removed
  `.execute(db.kysely);
  const [outcome] = rows;
  if (outcome === undefined || outcome.stored !== outcome.removed) {
    throw new Error(
      `The relay stored ${outcome?.stored} events but removed ${outcome?.removed} outbox rows.`,
    );
  }
  return Number(outcome.stored);
}

/** Events to move one by one after a batch failed. Ordered across organisations, so that a failing one delays no other. */
export async function listWaitingEvents(
  db: Db,
  proof: LeaseProof,
  { limit, without }: { readonly limit: number; readonly without: readonly OrgId[] },
): Promise<{ id: EventId; orgId: OrgId }[]> {
  const { rows } = await sql<{ id: string; org_id: string }>`
    with held as (${heldShards(proof, sql``)})
    select id, org_id
      from (select id, org_id, seq, row_number() over (partition by org_id order by seq) as nth
              from outbox
             where kind = 'event' and parked_at is null and shard in (select shard from held)
               and org_id <> all(${without.map(toUuid)}::uuid[])) as waiting
     order by nth, seq limit ${limit}
  `.execute(db.kysely);
  return rows.map((row) => ({ id: fromUuid('evt', row.id), orgId: fromUuid('org', row.org_id) }));
}

export interface WaitingCommand {
  readonly id: EventId;
  readonly orgId: OrgId;
  readonly service: string;
  readonly key: string;
  readonly handler: string;
  readonly payload: unknown;
  readonly notBefore: Date | null;
  readonly occurredAt: Date;
  readonly attempts: number;
  readonly mode: Mode;
  readonly cell: CellId;
  readonly actor: Actor;
  readonly traceparent: string | null;
  readonly schemaVersion: number;
}

interface CommandRow {
  id: string;
  org_id: string;
  service: string;
  object_key: string;
  handler: string;
  payload: unknown;
  not_before: Date | null;
  occurred_at: Date;
  attempts: number;
  mode: Mode;
  cell: number;
  actor: Actor;
  traceparent: string | null;
  schema_version: number;
}

function commandFromRow(row: CommandRow): WaitingCommand {
  return {
    id: fromUuid('evt', row.id),
    orgId: fromUuid('org', row.org_id),
    service: row.service,
    key: row.object_key,
    handler: row.handler,
    payload: row.payload,
    notBefore: row.not_before,
    occurredAt: row.occurred_at,
    attempts: row.attempts,
    mode: row.mode,
    cell: row.cell,
    actor: row.actor,
    traceparent: row.traceparent,
    schemaVersion: row.schema_version,
  };
}

/** The oldest commands that can be sent now. A postponed command delays only later ones to the same object. */
export async function listReadyCommands(db: Db, proof: LeaseProof, limit: number): Promise<WaitingCommand[]> {
  const { rows } = await sql<CommandRow>`
    with held as (${heldShards(proof, sql``)})
    select id, org_id, service, object_key, handler, payload, not_before, occurred_at, attempts, mode,
           cell, actor, traceparent, schema_version
      from outbox ready
     where kind = 'command' and parked_at is null and shard in (select shard from held)
       and not exists (
         select 1 from outbox ahead
          where ahead.kind = 'command' and ahead.parked_at is null and ahead.next_attempt_at > clock_timestamp()
            and ahead.shard = ready.shard and ahead.service = ready.service
            and ahead.object_key = ready.object_key and ahead.seq <= ready.seq)
     order by seq limit ${limit}
  `.execute(db.kysely);
  return rows.map(commandFromRow);
}

/** Deletes commands that Restate has accepted. Needs no lease: an accepted command stays accepted. */
export async function removeDelivered(db: Db, ids: readonly EventId[]): Promise<void> {
  if (ids.length === 0) return;
  await sql`delete from outbox where id = any(${ids.map(toUuid)}::uuid[])`.execute(db.kysely);
}

const MAX_ERROR_CHARS = 2_000;

/** Records a refusal and parks the row at `maxAttempts`. Returns whether this call parked it. */
export async function recordFailure(
  db: Db,
  failure: {
    readonly id: EventId;
    readonly error: string;
    readonly retryInMs: number;
    readonly maxAttempts: number;
  },
): Promise<{ parked: boolean }> {
  const { rows } = await sql<{ parked: boolean }>`
    update outbox
       set attempts = attempts + 1,
           last_error = ${failure.error.slice(0, MAX_ERROR_CHARS)},
           next_attempt_at = clock_timestamp() + ${failure.retryInMs} * interval '1 millisecond',
           parked_at = case when attempts + 1 >= ${failure.maxAttempts} then clock_timestamp() end
     where id = ${toUuid(failure.id)} and parked_at is null
    returning parked_at is not null as parked
  `.execute(db.kysely);
  return { parked: rows[0]?.parked ?? false };
}

export interface OutboxDepth {
  readonly waiting: number;
  readonly parked: number;
  readonly oldestWaitingMs: number;
}

export async function measureOutbox(db: Db): Promise<OutboxDepth> {
  const { rows } = await sql<{ waiting: bigint; parked: bigint; oldest_ms: number | null }>`
    select count(*) filter (where parked_at is null) as waiting,
           count(*) filter (where parked_at is not null) as parked,
           (extract(epoch from clock_timestamp() - min(created_at) filter (where parked_at is null)) * 1000)::float8
             as oldest_ms
      from outbox
  `.execute(db.kysely);
  const [row] = rows;
  return {
    waiting: Number(row?.waiting ?? 0n),
    parked: Number(row?.parked ?? 0n),
    oldestWaitingMs: row?.oldest_ms ?? 0,
  };
}
