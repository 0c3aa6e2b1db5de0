import type { Millrace } from '@millrace/sdk';
import { describe, expect, it } from 'vitest';
import { readRecentEvents } from './recent-events.ts';

describe('readRecentEvents', () => {
  const feedOf = (lastSeq: number) => {
    const calls: object[] = [];
    const list = async (query: { after: number | 'latest' }) => {
      calls.push(query);
      const first = query.after === 'latest' ? lastSeq : query.after;
      return {
        response: { lastSeq },
        items: Array.from({ length: lastSeq - first }, (_, index) => ({
          seq: first + index + 1,
          mode: (first + index) % 2 === 0 ? 'test' : 'live',
        })),
      };
    };
    return { client: { events: { list } } as unknown as Millrace, calls };
  };
  const { signal } = new AbortController();

  it('reads the end of the feed, newest first, without the other mode', async () => {
    const { client, calls } = feedOf(1_000);
    const events = await readRecentEvents(client, 'live', signal);
    expect([events.at(0)?.seq, events.at(-1)?.seq]).toEqual([1_000, 802]);
    expect(calls).toHaveLength(2);
  });

  it('reads nothing more if the feed is empty', async () => {
    const { client, calls } = feedOf(0);
    expect(await readRecentEvents(client, 'live', signal)).toEqual([]);
    expect(calls).toHaveLength(1);
  });
});
