import type { RequestId } from '@millrace/platform/ids';
import { describe, expect, it } from 'vitest';
import { EpochTracker } from './epoch-tracker.ts';

const request = (nth: number): RequestId => `req_${nth}` as RequestId;

function setUp(publish?: () => Promise<void>) {
  const published: string[] = [];
  let holderCount = 0;
  const epochs = new EpochTracker({
    nextId: () => `g.${(holderCount += 1)}`,
    publish: async (id, through) => {
      await publish?.();
      published.push(`${id} ${through}`);
    },
    log: { warn: () => undefined },
  });
  return { epochs, published };
}

describe('EpochTracker', () => {
  it('reports the end of an epoch once, after its last request is settled', async () => {
    const { epochs, published } = setUp();
    epochs.begin(1n);
    epochs.enter(1n, request(1));
    epochs.enter(1n, request(2));
    epochs.begin(2n);
    epochs.leave(1n, request(1));
    await epochs.report();
    expect(published).toEqual([]);
    epochs.leave(1n, request(2));
    await epochs.report();
    await epochs.report();
    expect(published).toEqual(['g.1 1']);
    expect(epochs.isDone()).toBe(true);
  });

  it('waits for requests of that epoch and of older ones, not of newer ones', async () => {
    const { epochs, published } = setUp();
    epochs.begin(3n);
    epochs.enter(3n, request(1));
    epochs.begin(4n);
    epochs.enter(4n, request(2));
    epochs.end(4n);
    epochs.leave(4n, request(2));
    await epochs.report();
    expect(published).toEqual(['g.1 2']);
    epochs.leave(3n, request(1));
    await epochs.report();
    expect(published).toEqual(['g.1 2', 'g.1 4']);
  });

  it('reports an end again when requested, because the stream may have lost it', async () => {
    const { epochs, published } = setUp();
    epochs.begin(1n);
    epochs.begin(2n);
    await epochs.report();
    epochs.enter(2n, request(1));
    epochs.end(1n);
    await epochs.report();
    expect(published).toEqual(['g.1 1', 'g.1 1']);
    // Neither unrequested nor for an epoch that was never reported.
    epochs.end(0n);
    await epochs.report();
    expect(published).toHaveLength(2);
    epochs.leave(2n, request(1));
    expect(epochs.isDone()).toBe(true);
  });

  it('reports the end of an unknown epoch', async () => {
    const { epochs, published } = setUp();
    epochs.end(7n);
    await epochs.report();
    expect(published).toEqual(['g.1 7']);
    expect(epochs.begin(7n)).toBe(false);
    expect(epochs.begin(8n)).toBe(true);
  });

  it('retries an end marker that the stream rejected', async () => {
    let down = true;
    const { epochs, published } = setUp(async () => {
      if (down) throw new Error('down');
    });
    epochs.begin(1n);
    epochs.end(1n);
    await epochs.report();
    expect(epochs.isDone()).toBe(false);
    down = false;
    await epochs.report();
    expect(published).toEqual(['g.1 1']);
  });
});

describe('renewHolderId', () => {
  it('allows the same epoch under a new id, and the old run ends with its requests', async () => {
    const { epochs, published } = setUp();
    epochs.begin(1n);
    epochs.enter(1n, request(1));
    epochs.renewHolderId();
    expect(epochs.gatewayId).toBe('g.2');
    expect(epochs.begin(1n)).toBe(true);
    expect(epochs.inFlight).toBe(1);
    const idle = epochs.idle();
    epochs.leave(1n, request(1));
    await idle;
    await epochs.report();
    expect(published).toEqual(['g.1 1']);
    await epochs.idle();
  });
});
