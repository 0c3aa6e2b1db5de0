import type { ConsumerMessages, JetStreamClient, JsMsg } from '@nats-io/jetstream';
import type { Timer } from '../clock/index.ts';
import { toIncoming } from './messages.ts';
import { retryTransient } from './retry.ts';
import type { FollowSpec, StoredMessage, StreamFollower } from './types.ts';

/** If this heartbeat is missing twice, the client requests again. */
const heartbeatMs = 1_000;
const pullMs = 10_000;

function toStored(message: JsMsg): StoredMessage {
  const { streamSequence } = message.info;
  return { ...toIncoming(message), sequence: streamSequence, text: () => message.string() };
}

/** Reads a stream in order from a position that the caller stores. The server stores nothing about the reader. */
export async function followStream(
  streams: JetStreamClient,
  clock: Timer,
  spec: FollowSpec,
): Promise<StreamFollower> {
  const consumer = await retryTransient(clock, () =>
    streams.consumers.get(spec.stream, { opt_start_seq: spec.fromSequence }),
  );
  const messages = await consumer.consume({
    max_messages: spec.maxBuffered,
    idle_heartbeat: heartbeatMs,
    expires: pullMs,
  });
  return bufferMessages(messages, clock, spec.maxBuffered);
}

/** Buffers messages for `take`. A full buffer makes the server wait. */
export function bufferMessages(
  messages: Pick<ConsumerMessages, 'close' | typeof Symbol.asyncIterator>,
  clock: Timer,
  maxBuffered: number,
): StreamFollower {
  const buffered: StoredMessage[] = [];
  let ended: { readonly error: unknown } | null = null;
  let isClosing = false;
  let onArrival = (): void => undefined;
  let onRoom = (): void => undefined;

  async function pump(): Promise<void> {
    for await (const message of messages) {
      // Messages that arrived before the close are discarded and must not wait for buffer space.
      if (isClosing) continue;
      buffered.push(toStored(message));
      onArrival();
      while (buffered.length >= maxBuffered) await new Promise<void>((resolve) => (onRoom = resolve));
    }
  }
  const pumped = pump().then(
    () => void (ended = { error: new Error('The stream follower has ended.') }),
    (error: unknown) => void (ended = { error }),
  );
  void pumped.then(() => onArrival());

  return {
    async take(limit, waitMs) {
      if (buffered.length === 0 && ended === null) {
        await new Promise<void>((resolve) => {
          const cancel = clock.after(waitMs, resolve);
          onArrival = () => {
            cancel();
            resolve();
          };
        });
        onArrival = () => undefined;
      }
      const taken = buffered.splice(0, limit);
      if (taken.length === 0 && ended !== null) throw ended.error;
      onRoom();
      return taken;
    },
    async close() {
      isClosing = true;
      const closed = messages.close();
      buffered.length = 0;
      onRoom();
      await closed;
      await pumped;
    },
  };
}
