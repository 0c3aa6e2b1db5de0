import type { Db } from '@millrace/platform/db';
import type { NatsClient } from '@millrace/platform/nats';
import { counter } from '@millrace/platform/telemetry';
import { messageEnvelopeOf, toWire, type EventChannels, type FeedEvent } from './events.ts';
import { listUnpublished, markPublished } from './events.store.ts';

const published = counter('millrace_relay_events_published_total', 'Events acknowledged by JetStream');

export interface PublisherOptions {
  readonly db: Db;
  readonly nats: Pick<NatsClient, 'publish'>;
  readonly channels: EventChannels;
  readonly batchSize: number;
  /** How long to wait for JetStream's answer before leaving the rest for the next turn. */
  readonly publishTimeoutMs: number;
}

/**
 * Publishes what these shards have stored and not yet published. All of a batch is under way at once; what was
 * acknowledged is noted even when another part failed. Publishing again what was not noted in time is harmless:
 * JetStream drops it by its id, and readers go by `seq`. Answers how many were published.
 */
export async function publishWaiting(options: PublisherOptions, shards: readonly number[]): Promise<number> {
  if (shards.length === 0) return 0;
  const events = await listUnpublished(options.db, shards, options.batchSize);
  const outcomes = await Promise.allSettled(events.map((event) => publish(options, event)));
  const acknowledged = events.filter((_, index) => outcomes[index]?.status === 'fulfilled');
  await markPublished(options.db, acknowledged);
  published.add(acknowledged.length);
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) {
    const failed = events.length - acknowledged.length;
    throw new Error(`JetStream did not take ${failed} of ${events.length} events.`, {
      cause: failure.reason,
    });
  }
  return acknowledged.length;
}

async function publish(options: PublisherOptions, event: FeedEvent): Promise<void> {
  await options.nats.publish(options.channels.subjectOf(event), toWire(event), {
    messageId: event.id,
    envelope: messageEnvelopeOf(event),
    timeoutMs: options.publishTimeoutMs,
  });
}
