import { eventTypeNames } from '@millrace/contract/event-types';
import { describe, expect, it } from 'vitest';
import { followFeed, changedResources, type FollowOptions } from './event-feed.ts';

type Opening = () => AsyncIterable<{ readonly type: string }>;

async function* events(types: readonly string[], end?: Error): AsyncGenerator<{ type: string }> {
  for (const type of types) yield { type };
  if (end !== undefined) throw end;
}

/** Follows a feed whose openings behave as given, and returns what happened in order. */
async function follow(
  openings: readonly Opening[],
  {
    isFinal = () => false,
    isLate = false,
  }: Partial<Pick<FollowOptions<{ type: string }>, 'isFinal' | 'isLate'>> = {},
) {
  const leaving = new AbortController();
  const done: string[] = [];
  const left = [...openings];
  await followFeed({
    open: async () => {
      const next = left.shift();
      if (next === undefined) {
        leaving.abort();
        throw new Error('left');
      }
      const opened = next();
      done.push('open');
      return opened;
    },
    onEvent: () => undefined,
    onNouns: (nouns) => done.push(nouns.join(' ')),
    onGap: () => done.push('all'),
    isFinal,
    isLate,
    wait: async (ms) => void done.push(`${ms} ms`),
    signal: leaving.signal,
  });
  return done;
}

describe('followFeed', () => {
  it('reports the cache keys that an event changes', async () => {
    const done = await follow([() => events(['rental.running', 'key.created', 'novel.thing'])]);
    expect(done.slice(0, 4)).toEqual([
      'open',
      'rentals volumes money catalog admin overview',
      'keys overview',
      'overview',
    ]);
  });

  it('reopens after a failure and reloads everything that it may have missed', async () => {
    const done = await follow([
      () => events(['volume.active'], new Error('gave up')),
      () => events(['balance.low']),
    ]);
    expect(done.slice(0, 6)).toEqual([
      'open',
      'volumes rentals money overview',
      '1000 ms',
      'open',
      'all',
      'money overview',
    ]);
  });

  it('reloads only after the feed is open, so that no event is missed in between', async () => {
    const late = await follow([() => events(['key.created'])], { isLate: true });
    expect(late.slice(0, 3)).toEqual(['open', 'all', 'keys overview']);
    const first = await follow([() => events(['key.created'])]);
    expect(first.slice(0, 2)).toEqual(['open', 'keys overview']);
  });

  it('backs off while opening fails, and resets the backoff after a success', async () => {
    const away: Opening = () => events([], new Error('away'));
    const done = await follow([...Array.from({ length: 7 }, () => away), () => events(['key.revoked'])]);
    const waits = done.filter((each) => each.endsWith(' ms')).map((each) => Number.parseInt(each, 10));
    expect(waits.slice(0, 8)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 1_000]);
  });

  it('stops after a final error', async () => {
    const ended = new Error('session ended');
    expect(await follow([() => events([], ended)], { isFinal: (error) => error === ended })).toEqual([
      'open',
    ]);
  });

  it('maps every event type of the contract', () => {
    const unknown = eventTypeNames.filter((type) => changedResources(type).length < 2);
    expect(unknown).toEqual([]);
  });
});
