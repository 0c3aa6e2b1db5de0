import { payloadSchemaVersion, type Actor, type Mode } from '../envelope/index.ts';
import type { Tx } from '../db/index.ts';
import { cellOf, toUuid, type EventId, type OrgId } from '../ids/index.ts';
import { divideWithRemainder } from '../money/index.ts';
import { activeTraceparent } from '../telemetry/index.ts';
import { shardOf } from './shard.ts';

/** A noun and a past participle, such as `key.created`. Features define their own. */
export type EventType = `${string}.${string}`;

interface EventOrigin {
  readonly orgId: OrgId;
  readonly mode: Mode;
  readonly actor: Actor;
}

/** Notifies the organisation and other services. */
export interface EventEntry extends EventOrigin {
  readonly kind: 'event';
  readonly type: EventType;
  /** The resource, by its public id. */
  readonly resource: { readonly kind: string; readonly id: string };
  /** Public data. Tenants see it, so it must not contain secrets. */
  readonly data: Readonly<Record<string, unknown>>;
  readonly occurredAt: Date;
}

/** Calls a durable handler after this transaction has committed. */
export interface CommandEntry extends EventOrigin {
  readonly kind: 'command';
  readonly service: string;
  readonly key: string;
  readonly handler: string;
  readonly payload: unknown;
  /** The minimum delay from now. */
  readonly delayMs?: number;
}

export type OutboxEntry = EventEntry | CommandEntry;

/** Writes an event or command, which the relay delivers at least once after the commit. Returns its id. */
export async function appendOutbox(tx: Tx, entry: OutboxEntry): Promise<EventId> {
  const id = tx.ids.next('evt');
  await tx.kysely
    .insertInto('outbox')
    .values(toRow(tx, id, entry))
    .execute();
  return id;
}

/** The protocol limits the parameters of a statement. */
const maxParameters = 65_535;

/** Appends several entries in order. */
export async function appendOutboxBatch(tx: Tx, entries: readonly EventEntry[]): Promise<void> {
  const rows = entries.map((entry) => toRow(tx, tx.ids.next('evt'), entry));
  const [first] = rows;
  if (first === undefined) return;
  const [atOnce] = divideWithRemainder(maxParameters, Object.keys(first).length);
  for (let done = 0; done < rows.length; done += atOnce) {
    await tx.kysely
      .insertInto('outbox')
      .values(rows.slice(done, done + atOnce))
      .execute();
  }
}

function toRow(tx: Tx, id: EventId, entry: OutboxEntry) {
  return {
    id: toUuid(id),
    cell: cellOf(id),
    shard: shardOf(entry.orgId),
    org_id: toUuid(entry.orgId),
    mode: entry.mode,
    actor: JSON.stringify(entry.actor),
    traceparent: activeTraceparent() ?? null,
    schema_version: payloadSchemaVersion,
    kind: entry.kind,
    ...(entry.kind === 'event' ? eventColumns(entry) : commandColumns(entry, tx.clock.nowMs())),
  };
}

function eventColumns(entry: EventEntry) {
  return {
    type: entry.type,
    resource_kind: entry.resource.kind,
    resource_id: entry.resource.id,
    payload: JSON.stringify(entry.data),
    occurred_at: entry.occurredAt,
  };
}

function commandColumns(entry: CommandEntry, nowMs: number) {
  return {
    service: entry.service,
    object_key: entry.key,
    handler: entry.handler,
    payload: JSON.stringify(entry.payload ?? null),
    not_before: entry.delayMs === undefined ? null : new Date(nowMs + entry.delayMs),
    occurred_at: new Date(nowMs),
  };
}
