import { eventApiVersion, type EventEnvelope } from '@millrace/contract';
import { payloadSchemaVersion, type Actor, type Envelope, type Mode } from '@millrace/platform/envelope';
import { cellOf, parseId, type CellId, type EventId, type OrgId } from '@millrace/platform/ids';

/** One of the things that events are about. */
export interface ResourceRef {
  readonly kind: string;
  readonly id: string;
}

/** One event of an organisation's feed, numbered and stored. */
export interface FeedEvent {
  readonly id: EventId;
  readonly orgId: OrgId;
  /** Counts from 1 within the organisation, without holes. */
  readonly seq: number;
  readonly type: string;
  readonly resource: ResourceRef;
  readonly mode: Mode;
  readonly cell: CellId;
  readonly actor: Actor;
  readonly traceparent: string | null;
  readonly schemaVersion: number;
  readonly apiVersion: string;
  readonly occurredAt: Date;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The version written into new events; what is stored keeps the version it was written with. */
export const writtenApiVersion = eventApiVersion;

/**
 * A test key reads test events only; a live key reads all, so its `seq` has no holes and a tenant's own
 * tooling can watch both from one place.
 */
export function isVisibleIn(mode: Mode, event: Pick<FeedEvent, 'mode'>): boolean {
  return mode === 'live' || event.mode === 'test';
}

export function concernsResource({ resource }: Pick<FeedEvent, 'resource'>, other: ResourceRef): boolean {
  return resource.kind === other.kind && resource.id === other.id;
}

/** The event as readers of the feed and of JetStream see it. */
export function toWireEvent(event: FeedEvent): EventEnvelope {
  const envelope = {
    id: event.id,
    type: event.type,
    seq: event.seq,
    occurredAt: event.occurredAt.toISOString(),
    apiVersion: event.apiVersion,
    orgId: event.orgId,
    mode: event.mode,
    resource: event.resource,
    actor: event.actor,
    data: event.data,
  };
  // Writers give `data` by the contract's type (EventData), and a stored event is never reshaped afterwards.
  return envelope as unknown as EventEnvelope;
}

/** Where things are on NATS. The prefix lets several installations, and every test, share one server. */
export interface EventChannels {
  readonly stream: string;
  /** What the stream captures. */
  readonly streamSubject: string;
  subjectOf(event: Pick<FeedEvent, 'cell' | 'orgId' | 'type'>): string;
  /** Every event of one type, whoever it belongs to. */
  subjectOfType(type: string): string;
  /** Everything of one organisation, whichever cell it happened in. */
  subjectOfOrganisation(orgId: OrgId): string;
}

export function eventChannels(prefix = ''): EventChannels {
  if (!/^[a-z0-9]{0,32}$/.test(prefix)) {
    throw new Error(
      `A channel prefix is at most 32 small letters and digits, got ${JSON.stringify(prefix)}.`,
    );
  }
  const root = prefix === '' ? 'events' : `${prefix}.events`;
  return {
    stream: prefix === '' ? 'EVENTS' : `${prefix.toUpperCase()}_EVENTS`,
    streamSubject: `${root}.>`,
    subjectOf: (event) => `${root}.${event.cell}.${event.orgId}.${event.type}`,
    subjectOfType: (type) => `${root}.*.*.${type}`,
    subjectOfOrganisation: (orgId) => `${root}.*.${orgId}.>`,
  };
}

/** What travels beside the body, so that a consumer can route and trace without parsing it. */
export function toMessageEnvelope(event: FeedEvent): Envelope {
  const { cell, mode, actor, schemaVersion, traceparent } = event;
  return { cell, mode, actor, schemaVersion, traceparent };
}

/**
 * An event read back from a message of the stream, or null when it is not whole. Only what readers of the feed are
 * shown is in the body; what is beside it (cell, trace) is not needed again here and is filled in from the ids.
 */
export function eventFromMessage(body: unknown): FeedEvent | null {
  if (seqOfMessage(body) === null) return null;
  const wire = body as Partial<EventEnvelope>;
  const id = parseId('evt', String(wire.id));
  const orgId = parseId('org', String(wire.orgId));
  const occurredAt = new Date(String(wire.occurredAt));
  if (id === null || orgId === null || Number.isNaN(occurredAt.getTime())) return null;
  const { seq, type, resource, mode, actor, apiVersion, data } = wire;
  if (seq === undefined || type === undefined || resource === undefined || mode === undefined) return null;
  if (actor === undefined || apiVersion === undefined || data === undefined) return null;
  return {
    id,
    orgId,
    seq,
    type,
    resource,
    mode,
    cell: cellOf(id),
    actor,
    traceparent: null,
    schemaVersion: payloadSchemaVersion,
    apiVersion,
    occurredAt,
    data,
  };
}

/** The number inside a message of the stream, or null when it is not one of ours. */
export function seqOfMessage(body: unknown): number | null {
  if (typeof body !== 'object' || body === null || !('seq' in body)) return null;
  return typeof body.seq === 'number' && Number.isSafeInteger(body.seq) && body.seq > 0 ? body.seq : null;
}
