import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  type JetStreamClient,
  type JetStreamManager,
  type StoredMsg,
  type StreamConfig,
} from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import type { Timer } from '../clock/index.ts';
import { assertOutsideTransaction } from '../db/index.ts';
import type { Logger } from '../log/index.ts';
import { followBucket } from './kv-follow.ts';
import { bucketStream, operationHeader, subjectOf, toEntry } from './kv-layout.ts';
import type { Bucket, BucketEntry, BucketSpec } from './kv-types.ts';
import { retryTransient } from './retry.ts';
import { isStreamMissing } from './streams.ts';

/**
 * A bucket is a stream that keeps the last message of each subject, in the layout of NATS's own key-value clients.
 * Their watches are not used, because they cannot distinguish a lost bucket from an idle one.
 */

const writeTimeoutMs = 2_000;
const maxKeysPerRead = 1_000;

function bucketConfig(spec: BucketSpec): Partial<StreamConfig> & Pick<StreamConfig, 'name' | 'subjects'> {
  return {
    name: bucketStream(spec.name),
    subjects: [subjectOf(spec.name, '>')],
    num_replicas: spec.replicas,
    storage: StorageType.File,
    retention: RetentionPolicy.Limits,
    max_msgs_per_subject: 1,
    discard: DiscardPolicy.New,
    max_bytes: spec.maxBytes,
    allow_rollup_hdrs: true,
    allow_direct: true,
    deny_delete: true,
  };
}

export async function ensureBucket(manager: JetStreamManager, spec: BucketSpec): Promise<void> {
  const config = bucketConfig(spec);
  try {
    await manager.streams.info(config.name);
  } catch (error) {
    if (!isStreamMissing(error)) throw error;
    await manager.streams.add(config);
    return;
  }
  await manager.streams.update(config.name, config);
}

export interface BucketDeps {
  readonly manager: JetStreamManager;
  readonly streams: JetStreamClient;
  readonly clock: Timer;
  readonly log: Pick<Logger, 'warn' | 'error'>;
  /** Registers a listener for reconnections; returns a function that removes it. */
  readonly onReconnect: (listener: () => void) => () => void;
}

function storedEntry(bucket: string, message: StoredMsg): BucketEntry {
  const { subject, seq, header } = message;
  return toEntry(bucket, { subject, seq, headers: header, text: () => message.string() });
}

export function openBucket(deps: BucketDeps, bucket: string): Bucket {
  const { manager, streams, clock } = deps;
  const stream = bucketStream(bucket);

  async function* list(pattern: string): AsyncGenerator<BucketEntry> {
    assertOutsideTransaction('NATS');
    let from = 1;
    for (;;) {
      const query = { seq: from, next_by_subj: subjectOf(bucket, pattern) };
      const message = await retryTransient(clock, () => manager.streams.getMessage(stream, query));
      if (message === null) return;
      yield storedEntry(bucket, message);
      from = message.seq + 1;
    }
  }

  /** Uses a callback, because the client's iterator leaks its subscription. */
  function lastOf(subjects: string[]): Promise<readonly BucketEntry[]> {
    return new Promise((resolve, reject) => {
      const entries: BucketEntry[] = [];
      const callback = (done: { err?: Error } | null, message: StoredMsg): void => {
        if (done === null) entries.push(storedEntry(bucket, message));
        else if (done.err === undefined || isKeyMissing(done.err)) resolve(entries);
        else reject(done.err);
      };
      manager.direct.getLastMessagesFor(stream, { multi_last: subjects, callback }).catch(reject);
    });
  }

  return {
    async read(key) {
      assertOutsideTransaction('NATS');
      const query = { last_by_subj: subjectOf(bucket, key) };
      const message = await retryTransient(clock, () => manager.streams.getMessage(stream, query));
      return message === null ? null : storedEntry(bucket, message);
    },

    async readFromAnyReplica(keys) {
      assertOutsideTransaction('NATS');
      if (keys.length > maxKeysPerRead) throw new RangeError(`At most ${maxKeysPerRead} keys per read.`);
      if (keys.length === 0) return new Map();
      const entries = await lastOf(keys.map((key) => subjectOf(bucket, key)));
      return new Map(entries.map((entry) => [entry.key, entry]));
    },

    list,

    async write(key, value, revision) {
      assertOutsideTransaction('NATS');
      const marked = headers();
      if (value === null) marked.set(operationHeader, 'DEL');
      const store = () =>
        streams.publish(subjectOf(bucket, key), value ?? '', {
          headers: marked,
          expect: { lastSubjectSequence: revision },
          timeout: writeTimeoutMs,
        });
      try {
        return (await retryTransient(clock, store)).seq;
      } catch (error) {
        if (isRevisionConflict(error)) return null;
        throw error;
      }
    },

    follow: (options) => followBucket(deps, bucket, list, options),
  };
}

function isKeyMissing(error: unknown): boolean {
  return error instanceof JetStreamApiError && error.status === 404;
}

function isRevisionConflict(error: unknown): boolean {
  return (
    error instanceof JetStreamApiError &&
    (error.code === JetStreamApiCodes.StreamWrongLastSequence ||
      error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown)
  );
}
