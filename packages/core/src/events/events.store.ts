import type { Db, Reader, Tx } from '@millrace/platform/db';
import type { Actor, Mode } from '@millrace/platform/envelope';
import { fromUuid, toUuid, type OrgId } from '@millrace/platform/ids';
import { shardOf } from '@millrace/platform/outbox';
import { sql, type RawBuilder } from 'kysely';
import type { FeedEvent, ResourceRef } from './events.ts';

interface EventRow {
  org_id: string;
  seq: bigint;
  id: string;
  type: string;
  resource_kind: string;
  resource_id: string;
  mode: Mode;
  cell: number;
  actor: Actor;
  traceparent: string | null;
  schema_version: number;
  api_version: string;
  occurred_at: Date;
  data: Record<string, unknown>;
}

const columns: RawBuilder<unknown> = sql`
  org_id, seq, id, type, resource_kind, resource_id, mode, cell, actor, traceparent, schema_version, api_version,
  occurred_at, data`;

function fromRow(row: EventRow): FeedEvent {
  return {
    id: fromUuid('evt', row.id),
    orgId: fromUuid('org', row.org_id),
    seq: Number(row.seq),
    type: row.type,
    resource: { kind: row.resource_kind, id: row.resource_id },
    mode: row.mode,
    cell: row.cell,
    actor: row.actor,
    traceparent: row.traceparent,
    schemaVersion: row.schema_version,
    apiVersion: row.api_version,
    occurredAt: row.occurred_at,
    data: row.data,
  };
}

/**
 * Events after `after`, oldest first. Numbers become visible in order, because the statement that allots them locks the
 * organisation's head until it commits. A reader that sees a number has seen all smaller ones.
 */
export async function listEventsAfter(
  db: Reader,
  orgId: OrgId,
  page: { readonly after: number; readonly limit: number; readonly mode: Mode },
): Promise<FeedEvent[]> {
  const visible = page.mode === 'test' ? sql`and mode = 'test'` : sql``;
  const { rows } = await sql<EventRow>`
    select ${columns} from events
     where org_id = ${toUuid(orgId)} and seq > ${page.after} ${visible}
     order by seq limit ${page.limit}
  `.execute(db.kysely);
  return rows.map(fromRow);
}

export async function findEventsBySeq(
  db: Reader,
  orgId: OrgId,
  seqs: readonly number[],
): Promise<FeedEvent[]> {
  const { rows } = await sql<EventRow>`
    select ${columns} from events
     where org_id = ${toUuid(orgId)} and seq = any(${seqs}::bigint[])
     order by seq
  `.execute(db.kysely);
  return rows.map(fromRow);
}

/** Events of the given resources only; the cost does not depend on the organisation's other events. */
export async function listEventsOfResources(
  db: Reader,
  orgId: OrgId,
  page: { readonly about: readonly ResourceRef[]; readonly after: number; readonly limit: number },
): Promise<FeedEvent[]> {
  const { about, after, limit } = page;
  const { rows } = await sql<EventRow>`
    select event.*
      from unnest(${about.map(({ kind }) => kind)}::text[], ${about.map(({ id }) => id)}::text[]) as thing (kind, id)
     cross join lateral (
           select ${columns} from events
            where org_id = ${toUuid(orgId)} and resource_kind = thing.kind and resource_id = thing.id
              and seq > ${after}
            order by seq limit ${limit}) as event
     order by event.seq limit ${limit}
  `.execute(db.kysely);
  return rows.map(fromRow);
}

export interface FeedHead {
  /** The smallest number that retention has kept. */
  readonly firstSeq: number;
  /** The greatest number; 0 before the first event. */
  readonly lastSeq: number;
}

export async function getFeedHead(db: Reader, orgId: OrgId): Promise<FeedHead> {
  const heads = await getFeedHeads(db, [orgId]);
  return heads.get(orgId) ?? { firstSeq: 1, lastSeq: 0 };
}

/** One query for all feeds that a process follows. */
export async function getFeedHeads(db: Reader, orgIds: readonly OrgId[]): Promise<Map<OrgId, FeedHead>> {
  const { rows } = await sql<{ org_id: string; first_seq: bigint; last_seq: bigint }>`
    select org_id, first_seq, last_seq from event_heads where org_id = any(${orgIds.map(toUuid)}::uuid[])
  `.execute(db.kysely);
  return new Map(
    rows.map((row) => [
      fromUuid('org', row.org_id),
      { firstSeq: Number(row.first_seq), lastSeq: Number(row.last_seq) },
    ]),
  );
}

/** About `max` unpublished events: an equal part of each shard with a backlog, so that no shard waits for another. */
export async function listUnpublished(db: Db, shards: readonly number[], max: number): Promise<FeedEvent[]> {
  const { rows } = await sql<EventRow>`
    with waiting as (
      select mine.shard from unnest(${shards}::smallint[]) as mine (shard)
       where exists (select 1 from events where events.shard = mine.shard and published_at is null)
    )
    select ${columns}
      from waiting cross join lateral (
        select * from events
         where events.shard = waiting.shard and published_at is null
         order by recorded_at, seq
         limit (select ceil(${max}::numeric / count(*)) from waiting)::int
      ) as oldest
     order by org_id, seq
  `.execute(db.kysely);
  return rows.map(fromRow);
}

/** Stores events that were published before the database was restored to an earlier point, and advances the heads. */
export async function insertLostEvents(tx: Tx, events: readonly FeedEvent[]): Promise<void> {
  for (const event of events) {
    const { orgId, resource } = event;
    await sql`
      insert into event_heads as head (org_id, last_seq) values (${toUuid(orgId)}, ${event.seq})
      on conflict (org_id) do update set last_seq = greatest(head.last_seq, excluded.last_seq)
    `.execute(tx.kysely);
    await sql`
      insert into events (org_id, seq, id, type, resource_kind, resource_id, mode, cell, shard, actor, traceparent,
                          schema_version, api_version, occurred_at, published_at, data)
      values (${toUuid(orgId)}, ${event.seq}, ${toUuid(event.id)}, ${event.type}, ${resource.kind}, ${resource.id},
              ${event.mode}, ${event.cell}, ${shardOf(orgId)}, ${JSON.stringify(event.actor)}::jsonb,
              ${event.traceparent}, ${event.schemaVersion}, ${event.apiVersion}, ${event.occurredAt},
              clock_timestamp(), ${JSON.stringify(event.data)}::jsonb)
      on conflict do nothing
    `.execute(tx.kysely);
  }
}

/** Records what JetStream has acknowledged. Idempotent, so no lease is needed. */
export async function markPublished(db: Db, events: readonly FeedEvent[]): Promise<void> {
  if (events.length === 0) return;
  await sql`
    update events set published_at = clock_timestamp()
      from unnest(${events.map((event) => toUuid(event.orgId))}::uuid[],
                  ${events.map((event) => event.seq)}::bigint[]) as done (org_id, seq)
     where events.org_id = done.org_id and events.seq = done.seq and events.published_at is null
  `.execute(db.kysely);
}

/**
 * Deletes published events older than the retention in one batch, oldest first within each organisation, and advances
 * the organisation's first number: a reader further back gets an error instead of a gap. Returns the number deleted;
 * call again while the batch was full.
 */
export async function deleteExpiredEvents(
  tx: Tx,
  sweep: { readonly olderThanMs: number; readonly limit: number },
): Promise<number> {
  const { rows } = await sql<{ deleted: bigint }>`
    with old as (
      select org_id, max(seq) as last_old
        from (select org_id, seq from events
               where recorded_at < clock_timestamp() - ${sweep.olderThanMs} * interval '1 millisecond'
                 and published_at is not null
               order by recorded_at limit ${sweep.limit}) as candidates
       group by org_id
    ),
    gone as (
      delete from events using old
       where events.org_id = old.org_id and events.seq <= old.last_old
         and events.published_at is not null
         and not exists (select 1 from events kept
                          where kept.org_id = old.org_id and kept.seq <= events.seq and kept.published_at is null)
      returning events.org_id, events.seq
    ),
    moved as (
      update event_heads head set first_seq = last_gone.seq + 1
        from (select org_id, max(seq) as seq from gone group by org_id) as last_gone
       where head.org_id = last_gone.org_id and head.first_seq <= last_gone.seq
      returning 1
    )
    select (select count(*) from gone) as deleted, (select count(*) from moved) as moved
  `.execute(tx.kysely);
  return Number(rows[0]?.deleted ?? 0n);
}

export interface EventRange {
  /** Events with a higher number than this. */
  readonly after: number;
  /** Up to this number; null: all. */
  readonly until: number | null;
  /** Null: all types. */
  readonly types: readonly string[] | null;
  readonly limit: number;
}

/** The oldest stored events of a range. Columns: seq, id, type, resource_kind, resource_id. */
export function eventsInRange(orgId: OrgId, mode: Mode, range: EventRange): RawBuilder<unknown> {
  const until = range.until === null ? sql`` : sql`and seq <= ${range.until}`;
  const types = range.types === null ? sql`` : sql`and type = any(${range.types}::text[])`;
  return sql`(
      select seq, id, type, resource_kind, resource_id from events
       where org_id = ${toUuid(orgId)} and seq > ${range.after} and mode = ${mode} ${until} ${types}
       order by seq limit ${range.limit})`;
}
