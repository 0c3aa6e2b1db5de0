import type { NatsClient } from '@millrace/platform/nats';
import type { EventChannels } from './events.ts';

export interface EventStreamOptions {
  /** How many servers keep each message: 3 on a cluster, 1 on a single server. */
  readonly replicas: number;
  readonly maxAgeMs: number;
  readonly maxBytes: number;
}

/**
 * Long enough for a relay that died between publishing and noting it to be replaced, and for its successor to publish
 * again: within this time JetStream drops the second message by its id.
 */
const DUPLICATE_WINDOW_MS = 10 * 60_000;

/**
 * The stream that carries events to whoever follows them. It forgets the oldest when full: everything in it is also in
 * PostgreSQL, which is where a reader that has fallen behind continues.
 */
export function ensureEventStream(
  nats: Pick<NatsClient, 'ensureStream'>,
  channels: EventChannels,
  options: EventStreamOptions,
): Promise<void> {
  return nats.ensureStream({
    name: channels.stream,
    subjects: [channels.streamSubject],
    replicas: options.replicas,
    maxAgeMs: options.maxAgeMs,
    maxBytes: options.maxBytes,
    whenFull: 'drop oldest',
    duplicateWindowMs: DUPLICATE_WINDOW_MS,
  });
}
