import type { Db } from '@millrace/platform/db';
import type { NatsClient } from '@millrace/platform/nats';
import { counter } from '@millrace/platform/telemetry';
import { toMessageEnvelope, toWireEvent, type EventChannels, type FeedEvent } from './events.ts';
import { listUnpublished, markPublished } from './events.store.ts';

const published = counter('millrace_relay_events_published_total');

export interface PublisherOptions {
  readonly db: Db;
  readonly nats: Pick<NatsClient, 'publish'>;
  readonly channels: EventChannels;
  readonly batchSize: number;
  /** How long to wait for JetStream's acknowledgement before the next turn retries. */
  readonly publishTimeoutMs: number;
  /** Aborts when the relay stops. Its successor publishes unacknowledged events. */
  readonly signal: AbortSignal;
}

/**
 * Publishes stored, unpublished events of these shards, one batch concurrently. Acknowledged events are recorded even
 * if others failed. A second publication is harmless: JetStream drops it by its id, and readers use `seq`. Returns the
 * number published.
 */
export async function publishEvents(options: PublisherOptions, shards: readonly number[]): Promise<number> {
  if (shards.length === 0) return 0;
  const events = await listUnpublished(options.db, shards, options.batchSize);
  const acknowledged: FeedEvent[] = [];
  let failure: unknown;
  const all = events.map((event) =>
    publish(options, event).then(
      () => void acknowledged.push(event),
      (error: unknown) => {
        failure = error;
      },
    ),
  );
  await raceWithAbort(Promise.all(all), options.signal);
  const noted = [...acknowledged];
  await markPublished(options.db, noted);
  published.add(noted.length);
  if (failure !== undefined) {
    const left = events.length - noted.length;
    throw new Error(`JetStream did not acknowledge ${left} of ${events.length} events.`, { cause: failure });
  }
  return noted.length;
}

/** The signal exists as long as the relay, so the listener must be removed. */
async function raceWithAbort(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  const left = Promise.withResolvers<void>();
  const leave = (): void => left.resolve();
  signal.addEventListener('abort', leave, { once: true });
  if (signal.aborted) leave();
  try {
    await Promise.race([work, left.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}

async function publish(options: PublisherOptions, event: FeedEvent): Promise<void> {
  await options.nats.publish(options.channels.subjectOf(event), toWireEvent(event), {
    messageId: event.id,
    envelope: toMessageEnvelope(event),
    timeoutMs: options.publishTimeoutMs,
  });
}
