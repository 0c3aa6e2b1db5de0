import type { NatsClient, StoredMessage } from './types.ts';

const BATCH = 100;
const WAIT_MS = 2_000;

/** Returns the messages that a stream has now, in parts, so that a long stream does not fill the memory. */
export async function* readStream(
  nats: Pick<NatsClient, 'follow' | 'streamState'>,
  stream: string,
): AsyncGenerator<readonly StoredMessage[]> {
  const state = await nats.streamState(stream);
  if (state === null || state.firstSequence > state.lastSequence || state.lastSequence === 0) return;
  const { firstSequence: fromSequence, lastSequence } = state;
  const follower = await nats.follow({ stream, fromSequence, maxBuffered: BATCH });
  try {
    for (let at = fromSequence - 1; at < lastSequence;) {
      const taken = await follower.take(BATCH, WAIT_MS);
      const last = taken.at(-1);
      if (last === undefined) {
        // The rest may have been purged meanwhile.
        const now = await nats.streamState(stream);
        if (now === null || now.firstSequence > lastSequence) return;
        throw new Error(`NATS did not deliver the rest of the stream ${stream} in time.`);
      }
      at = last.sequence;
      yield taken.filter(({ sequence }) => sequence <= lastSequence);
    }
  } finally {
    await follower.close();
  }
}
