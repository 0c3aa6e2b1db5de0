import type { NatsClient } from '@millrace/platform/nats';
import type { EventChannels } from './events.ts';

export interface EventStreamOptions {
  /** Number of servers that store each message: 3 on a cluster, 1 on a single server. */
  readonly replicas: number;
  readonly maxAgeMs: number;
  readonly maxBytes: number;
}

/** Time for a successor to publish again what a dead relay did not record; JetStream drops the duplicates by id. */
const DUPLICATE_WINDOW_MS = 10 * 60_000;

/** A full stream drops its oldest messages: a reader that falls behind continues from PostgreSQL. */
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
