import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  PersistMode,
  RetentionPolicy,
  StorageType,
  type ConsumerConfig,
  type JetStreamManager,
  type StreamConfig,
} from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import type { ConsumerSpec, StreamSpec, StreamState } from './types.ts';

function streamConfig(spec: StreamSpec): Partial<StreamConfig> & Pick<StreamConfig, 'name' | 'subjects'> {
  return {
    name: spec.name,
    subjects: [...spec.subjects],
    num_replicas: spec.replicas,
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    discard: spec.whenFull === 'refuse new' ? DiscardPolicy.New : DiscardPolicy.Old,
    max_age: nanos(spec.maxAgeMs),
    max_bytes: spec.maxBytes,
    duplicate_window: nanos(spec.duplicateWindowMs),
    // The server's sync_interval limits the delay until an acknowledged message is on disk.
    persist_mode: PersistMode.Default,
  };
}

export function isStreamMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
}

/** Adding a stream that exists with the same configuration succeeds, so two processes may run this concurrently. */
export async function ensureStream(manager: JetStreamManager, spec: StreamSpec): Promise<void> {
  const config = streamConfig(spec);
  try {
    await manager.streams.info(spec.name);
  } catch (error) {
    if (!isStreamMissing(error)) throw error;
    const { firstSequence } = spec;
    await manager.streams.add(firstSequence === undefined ? config : { ...config, first_seq: firstSequence });
    return;
  }
  await manager.streams.update(spec.name, config);
}

export async function streamState(manager: JetStreamManager, stream: string): Promise<StreamState | null> {
  try {
    const { created, state, config } = await manager.streams.info(stream);
    return {
      createdAt: created,
      firstSequence: state.first_seq,
      lastSequence: state.last_seq,
      bytes: state.bytes,
      maxBytes: config.max_bytes,
    };
  } catch (error) {
    if (isStreamMissing(error)) return null;
    throw error;
  }
}

/** Creating a consumer that exists with the same configuration succeeds; another configuration updates it. */
export async function ensureConsumer(manager: JetStreamManager, spec: ConsumerSpec): Promise<void> {
  const config: Partial<ConsumerConfig> = {
    durable_name: spec.durable,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: nanos(spec.ackWaitMs),
    max_ack_pending: spec.maxInFlight,
    max_deliver: spec.maxDeliveries,
    ...(spec.filterSubject === undefined ? {} : { filter_subject: spec.filterSubject }),
  };
  await manager.consumers.add(spec.stream, config);
}
