import type { CellId } from '../ids/index.ts';

/** Live rows cost money; test rows never do. Nothing crosses from one to the other. */
export type Mode = 'live' | 'test';

/** Who caused something: an API key, a person, an operator of the platform, or the platform itself. */
export interface Actor {
  readonly kind: 'key' | 'user' | 'operator' | 'system';
  readonly id: string;
}

/** What travels with every event and command, from the transaction that caused it to the last consumer. */
export interface Envelope {
  readonly cell: CellId;
  readonly mode: Mode;
  readonly actor: Actor;
  /** Version of the payload's shape. Consumers refuse a version they do not know. */
  readonly schemaVersion: number;
  /** W3C trace context, when the cause was traced. */
  readonly traceparent: string | null;
}

/** The version of payload that this code writes. */
export const payloadSchemaVersion = 1;

/** The envelope of messages that a process sends on its own account. */
export function systemEnvelope(cell: CellId, id: 'api' | 'gateway' | 'worker'): Envelope {
  const actor = { kind: 'system', id } as const;
  return { cell, mode: 'live', actor, schemaVersion: payloadSchemaVersion, traceparent: null };
}

const actorKinds: ReadonlySet<string> = new Set<Actor['kind']>(['key', 'user', 'operator', 'system']);
const wholeNumber = /^(0|[1-9][0-9]{0,8})$/;

/** The envelope as message headers, for NATS and Restate alike. */
export function envelopeHeaders(envelope: Envelope): Record<string, string> {
  return {
    'millrace-cell': String(envelope.cell),
    'millrace-mode': envelope.mode,
    'millrace-actor': `${envelope.actor.kind}:${envelope.actor.id}`,
    'millrace-schema-version': String(envelope.schemaVersion),
    ...(envelope.traceparent === null ? {} : { traceparent: envelope.traceparent }),
  };
}

/** Reads the envelope back, or null when a header is missing or malformed: such a message is not ours. */
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
