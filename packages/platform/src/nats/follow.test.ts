import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import { bufferMessages } from './follow.ts';

/** A client with more messages than the buffer accepts, as after a reconnection, and its end after them. */
function holding(count: number): Pick<ConsumerMessages, 'close' | typeof Symbol.asyncIterator> {
  async function* handOut(): AsyncGenerator<JsMsg> {
    for (let sequence = 1; sequence <= count; sequence += 1) {
      yield { info: { streamSequence: sequence }, string: () => '{}' } as JsMsg;
    }
  }
  return { close: async () => undefined, [Symbol.asyncIterator]: handOut };
}

describe('bufferMessages', () => {
  it('can be closed while more messages wait than it may buffer', async () => {
    const follower = bufferMessages(holding(60), new SimulatedClock(), 8);
    expect(await follower.take(8, 1_000)).not.toHaveLength(0);
    await follower.close();
  });
});
