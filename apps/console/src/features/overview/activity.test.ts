import type { Millrace } from '@millrace/sdk';
import { describe, expect, it } from 'vitest';
import { activityOf, readRecentEvents, type Event } from './activity.ts';

const event = (type: string, data: object): Event => ({ id: type, type, data }) as unknown as Event;

describe('activityOf', () => {
  it('names the resource and links to it', () => {
    expect(activityOf(event('rental.running', { rentalId: 7, name: 'train' }))).toEqual({
      text: 'train is running',
      to: '/rentals/7',
    });
    expect(activityOf(event('volume.restore_failed', { storageVolumeId: 4, label: 'data' }))).toEqual({
      text: 'Volume data was not restored',
      to: '/volumes/4',
    });
    expect(activityOf(event('instance.offline', { instanceId: 'a/b' })).to).toBe('/instances/a%2Fb');
  });

  it('shows exact amounts', () => {
    expect(activityOf(event('balance.topped_up', { amountNanoUsd: '25000000000' })).text).toBe(
      '$25.00 was added to the balance',
    );
  });

  it('uses the description of other types, and the name of an unknown one', () => {
    expect(activityOf(event('balance.low', {})).text).toBe('At the current rate, the balance ends soon');
    expect(activityOf(event('quota.changed', {}))).toEqual({ text: 'quota.changed', to: null });
  });
});

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
