import type { ConsumerMessages, JetStreamClient, JsMsg } from '@nats-io/jetstream';
import type { Timer } from '../clock/index.ts';
import { toIncoming } from './messages.ts';
import { retryTransient } from './retry.ts';
import type { FollowSpec, StoredMessage, StreamFollower } from './types.ts';

/** A server that does not even send this is asked again, after twice as long. */
const heartbeatMs = 1_000;
const pullMs = 10_000;

function toStored(message: JsMsg): StoredMessage {
  const { streamSequence } = message.info;
  return { ...toIncoming(message), sequence: streamSequence, text: () => message.string() };
}

/** Reads a stream in order from a place that the caller keeps. The server remembers nothing of it. */
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

/** Moves what comes into a list to take from; a full list makes the server wait. */
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
      // What had come before it was closed is handed out all the same, to nobody, and must not wait for room.
      if (isClosing) continue;
      buffered.push(toStored(message));
      onArrival();
      while (buffered.length >= maxBuffered) await new Promise<void>((resolve) => (onRoom = resolve));
    }
  }
  const pumped = pump().then(
    () => void (ended = { error: new Error('The following of a stream has ended.') }),
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
