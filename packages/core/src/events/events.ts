import { eventApiVersion, type EventEnvelope } from '@millrace/contract';
import { payloadSchemaVersion, type Actor, type Envelope, type Mode } from '@millrace/platform/envelope';
import { cellOf, parseId, type CellId, type EventId, type OrgId } from '@millrace/platform/ids';

export interface ResourceRef {
  readonly kind: string;
  readonly id: string;
}

export interface FeedEvent {
  readonly id: EventId;
  readonly orgId: OrgId;
  /** Counts from 1 within the organisation, without gaps. */
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

/** The version written into new events; stored events keep theirs. */
export const writtenApiVersion = eventApiVersion;

/** A test key reads test events only. A live key reads both modes, so its `seq` has no gaps. */
export function isVisibleIn(mode: Mode, event: Pick<FeedEvent, 'mode'>): boolean {
  return mode === 'live' || event.mode === 'test';
}

export function concernsResource({ resource }: Pick<FeedEvent, 'resource'>, other: ResourceRef): boolean {
  return resource.kind === other.kind && resource.id === other.id;
}

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
  // Writers pass `data` by the contract's type (EventData), and a stored event is never reshaped.
  return envelope as unknown as EventEnvelope;
}

/** Names on NATS. The prefix lets several installations, and every test, share one server. */
export interface EventChannels {
  readonly stream: string;
  readonly streamSubject: string;
  subjectOf(event: Pick<FeedEvent, 'cell' | 'orgId' | 'type'>): string;
  /** Events of one type of all organisations. */
  subjectOfType(type: string): string;
  /** All events of one organisation in all cells. */
  subjectOfOrganisation(orgId: OrgId): string;
}

export function eventChannels(prefix = ''): EventChannels {
  if (!/^[a-z0-9]{0,32}$/.test(prefix)) {
    throw new Error(
      `A channel prefix must be at most 32 lower-case letters and digits, got ${JSON.stringify(prefix)}.`,
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

/** Message headers, so that a consumer can route and trace without parsing the body. */
export function toMessageEnvelope(event: FeedEvent): Envelope {
  const { cell, mode, actor, schemaVersion, traceparent } = event;
  return { cell, mode, actor, schemaVersion, traceparent };
}

/** Parses a message of the stream; null if a field is missing. Cell and schema version are not in the body. */
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

/** The number in a message of the stream, or null when the message is not an event. */
export function seqOfMessage(body: unknown): number | null {
  if (typeof body !== 'object' || body === null || !('seq' in body)) return null;
  return typeof body.seq === 'number' && Number.isSafeInteger(body.seq) && body.seq > 0 ? body.seq : null;
}
