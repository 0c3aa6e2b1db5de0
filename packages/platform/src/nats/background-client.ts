import { connectNats } from './connect.ts';
import type { Bucket } from './kv-types.ts';
import type { NatsClient, NatsOptions, NatsSubscription } from './types.ts';

/** The operations of a client whose messages may be lost, so that they work without a connection. */
export type NatsNotifications = Pick<NatsClient, 'notify' | 'subscribe' | 'connected' | 'ping' | 'close'>;

/** Adds operations that the relay retries, and requests that may stay unanswered. */
export type BackgroundNatsClient = NatsNotifications &
  Pick<
    NatsClient,
    | 'publish'
    | 'ensureStream'
    | 'request'
    | 'follow'
    | 'streamState'
    | 'purgeMessages'
    | 'ensureBucket'
    | 'bucket'
  >;

/**
 * Returns at once and connects when a server is available, however long that takes, for processes that work without
 * NATS. Until then `notify` is lost and subscriptions wait, as after a lost connection. Operations with a response fail
 * at once.
 */
export function connectNatsInBackground(
  options: Omit<NatsOptions, 'firstConnectionMs' | 'signal'>,
): BackgroundNatsClient {
  const closing = new AbortController();
  const waiting = new Set<(found: NatsClient) => void>();
  let client: NatsClient | undefined;

  async function connectOnce(): Promise<void> {
    const { signal } = closing;
    const found = await connectNats({ ...options, firstConnectionMs: Number.POSITIVE_INFINITY, signal });
    if (signal.aborted) return found.close();
    client = found;
    for (const begin of waiting) begin(found);
    waiting.clear();
    options.log.info({}, 'connected to NATS');
  }
  connectOnce().catch((error: unknown) => {
    if (!closing.signal.aborted) options.log.error({ err: error }, 'connecting to NATS failed permanently');
  });

  function subscribeLater(...listen: Parameters<NatsClient['subscribe']>): NatsSubscription {
    let started: NatsSubscription | undefined;
    const begin = (found: NatsClient): void => {
      started = found.subscribe(...listen);
    };
    waiting.add(begin);
    return {
      close: async () => {
        waiting.delete(begin);
        await started?.close();
      },
    };
  }

  function reached(): NatsClient {
    if (client === undefined) throw new Error('NATS has not been reached yet.');
    return client;
  }

  return {
    notify: (...message) => client?.notify(...message),
    subscribe: (...listen) => client?.subscribe(...listen) ?? subscribeLater(...listen),
    connected: () => client?.connected() ?? false,
    publish: async (...message) => reached().publish(...message),
    ensureStream: async (spec) => reached().ensureStream(spec),
    request: async (...question) => reached().request(...question),
    ensureBucket: async (spec) => reached().ensureBucket(spec),
    bucket: (name) => lazyBucket(() => reached().bucket(name)),
    follow: async (spec) => reached().follow(spec),
    streamState: async (stream) => reached().streamState(stream),
    purgeMessages: async (...messages) => reached().purgeMessages(...messages),
    ping: async () => reached().ping(),
    close: async () => {
      closing.abort();
      await client?.close();
    },
  };
}

/** A bucket that is opened again for each use. To follow one, wait for the connection first. */
function lazyBucket(open: () => Bucket): Bucket {
  return {
    read: async (key) => open().read(key),
    readFromAnyReplica: async (keys) => open().readFromAnyReplica(keys),
    list: (pattern) => open().list(pattern),
    write: async (...entry) => open().write(...entry),
    follow: (options) => open().follow(options),
  };
}
