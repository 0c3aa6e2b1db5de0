import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../clock/index.ts';
import { bufferMessages } from './follow.ts';

/** A client that, having asked again after it was cut off, holds more than was to be kept; its end comes after all that. */
function holding(count: number): Pick<ConsumerMessages, 'close' | typeof Symbol.asyncIterator> {
  async function* handOut(): AsyncGenerator<JsMsg> {
    for (let sequence = 1; sequence <= count; sequence += 1) {
      yield { info: { streamSequence: sequence }, string: () => '{}' } as JsMsg;
    }
  }
  return { close: async () => undefined, [Symbol.asyncIterator]: handOut };
}

describe('a follower of a stream', () => {
  it('can be closed while more waits to be handed out than it may keep', async () => {
    const follower = bufferMessages(holding(60), new SimulatedClock(), 8);
    expect(await follower.take(8, 1_000)).not.toHaveLength(0);
    await follower.close();
  });
});
