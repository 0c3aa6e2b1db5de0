import { SimulatedClock } from '@millrace/platform/clock';
import { createIdSource } from '@millrace/platform/ids';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toWireEvent, type FeedEvent } from './events.ts';
import { createFollower } from './follower.ts';

const ids = createIdSource({ clock: new SimulatedClock(1_767_225_600_000), cell: 1 });
const orgId = ids.next('org');

function eventOf(seq: number): FeedEvent {
  return {
    id: ids.next('evt'),
    orgId,
    seq,
    type: 'key.created',
    resource: { kind: 'api-key', id: 'key_1' },
    mode: 'live',
    cell: 1,
    actor: { kind: 'system', id: 'test' },
    traceparent: null,
    schemaVersion: 1,
    apiVersion: '2.0.0',
    occurredAt: new Date(0),
    data: { name: String(seq) },
  };
}

/** The store that a follower reads. Like the relay, it stores events before any message about them is sent. */
function newStore() {
  const stored: FeedEvent[] = [];
  let reads = 0;
  return {
    store: () => {
      const event = eventOf(stored.length + 1);
      stored.push(event);
      return event;
    },
    readAfter: async (after: number) => {
      reads += 1;
      const events = stored.slice(after, after + 3);
      return { events, upTo: events.at(-1)?.seq ?? after, more: events.length === 3 };
    },
    reads: () => reads,
    size: () => stored.length,
  };
}

const never = new AbortController().signal;

describe('createFollower', () => {
  test('returns every number once and in order, whether messages are lost, repeated or invalid', async () => {
    type Step = 'store and tell' | 'store and lose' | 'repeat' | 'rubbish' | 'read';
    const steps = fc.array(
      fc.constantFrom<Step>('store and tell', 'store and lose', 'repeat', 'rubbish', 'read'),
      { maxLength: 60 },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.nat({ max: 5 }), async (script, maxBuffered) => {
        const { store, readAfter, size } = newStore();
        const follower = createFollower({ after: 0, maxBuffered: maxBuffered + 1, readAfter });
        const seen: number[] = [];
        let last: FeedEvent | undefined;
        for (const step of script) {
          if (step === 'store and tell' || step === 'store and lose') last = store();
          if (step === 'store and tell' || step === 'repeat') follower.offer(last && toWireEvent(last));
          if (step === 'rubbish') follower.offer({ seq: 7, type: 3 });
          if (step !== 'read' || seen.length === size()) continue;
          follower.noticeHead(size());
          seen.push(...((await follower.next(never)) ?? []).map((event) => event.seq));
        }
        while (seen.length < size()) {
          follower.noticeHead(size());
          seen.push(...((await follower.next(never)) ?? []).map((event) => event.seq));
        }
        expect(seen).toEqual(Array.from({ length: size() }, (_, index) => index + 1));
      }),
    );
  });

  test('does not read the store while messages arrive without gaps', async () => {
    const { store, readAfter, reads } = newStore();
    const follower = createFollower({ after: 0, maxBuffered: 10, readAfter });
    store();
    expect((await follower.next(never))?.map((event) => event.seq)).toEqual([1]);
    for (let nth = 2; nth <= 5; nth += 1) {
      follower.offer(toWireEvent(store()));
      expect((await follower.next(never))?.map((event) => event.seq)).toEqual([nth]);
    }
    expect(reads()).toBe(1);
  });

  test('buffers at most maxBuffered events for a slow client and then catches up by reading', async () => {
    const { store, readAfter, reads, size } = newStore();
    const follower = createFollower({ after: 0, maxBuffered: 2, readAfter });
    store();
    await follower.next(never);
    for (let nth = 0; nth < 8; nth += 1) follower.offer(toWireEvent(store()));
    const seen: number[] = [];
    while (seen.length < size() - 1)
      seen.push(...((await follower.next(never)) ?? []).map((event) => event.seq));
    expect(seen).toEqual([2, 3, 4, 5, 6, 7, 8, 9]);
    expect(reads()).toBeGreaterThan(2);
  });

  test('ends next() with null when the client disconnects, also while it waits', async () => {
    const { readAfter } = newStore();
    const leaving = new AbortController();
    const follower = createFollower({ after: 0, maxBuffered: 2, readAfter });
    const next = follower.next(leaving.signal);
    leaving.abort();
    expect(await next).toBeNull();
  });
});
