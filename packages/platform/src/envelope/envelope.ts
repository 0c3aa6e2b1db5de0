import type { CellId } from '../ids/index.ts';

/** Live rows cost money; test rows never do. The two modes are strictly separate. */
export type Mode = 'live' | 'test';

/** The cause of a change: an API key, a user, an operator, or the platform itself. */
export interface Actor {
  readonly kind: 'key' | 'user' | 'operator' | 'system';
  readonly id: string;
}

/** Metadata of every event and command, from the transaction that caused it to the last consumer. */
export interface Envelope {
  readonly cell: CellId;
  readonly mode: Mode;
  readonly actor: Actor;
  /** Version of the payload's format. Consumers refuse unknown versions. */
  readonly schemaVersion: number;
  /** W3C trace context, if the cause was traced. */
  readonly traceparent: string | null;
}

export const payloadSchemaVersion = 1;

/** The envelope of messages that a process sends without a caller's request. */
export function systemEnvelope(cell: CellId, id: 'api' | 'gateway' | 'worker'): Envelope {
  const actor = { kind: 'system', id } as const;
  return { cell, mode: 'live', actor, schemaVersion: payloadSchemaVersion, traceparent: null };
}

const actorKinds: ReadonlySet<string> = new Set<Actor['kind']>(['key', 'user', 'operator', 'system']);
const wholeNumber = /^(0|[1-9][0-9]{0,8})$/;

export function envelopeHeaders(envelope: Envelope): Record<string, string> {
  return {
    'millrace-cell': String(envelope.cell),
    'millrace-mode': envelope.mode,
    'millrace-actor': `${envelope.actor.kind}:${envelope.actor.id}`,
    'millrace-schema-version': String(envelope.schemaVersion),
    ...(envelope.traceparent === null ? {} : { traceparent: envelope.traceparent }),
  };
}

/** Null if a header is missing or malformed: Millrace did not send such a message. */
export function envelopeFromHeaders(get: (name: string) => string | undefined): Envelope | null {
  const cell = get('millrace-cell') ?? '';
  const mode = get('millrace-mode');
  const version = get('millrace-schema-version') ?? '';
  const [, kind = '', id = ''] = /^([a-z]+):(.+)$/.exec(get('millrace-actor') ?? '') ?? [];
  if (!wholeNumber.test(cell) || !wholeNumber.test(version)) return null;
  if ((mode !== 'live' && mode !== 'test') || !actorKinds.has(kind)) return null;
  return {
    cell: Number(cell),
    mode,
    actor: { kind: kind as Actor['kind'], id },
    schemaVersion: Number(version),
    traceparent: get('traceparent') || null,
  };
}
