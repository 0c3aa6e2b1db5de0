import type { Millrace } from '@millrace/sdk';
import type { Event } from './activity.ts';

/** As many as one page of the feed has. Older announcements of maintenance are not found. */
const EVENTS_READ = 200;

/** Newest first, of one mode: the feed has the events of both. It is read forwards, so its end is looked up first. */
export async function readRecentEvents(
  client: Millrace,
  mode: Event['mode'],
  signal: AbortSignal,
): Promise<readonly Event[]> {
  const { lastSeq } = (await client.events.list({ after: 'latest' }, { signal })).response;
  if (lastSeq === 0) return [];
  const after = Math.max(0, lastSeq - EVENTS_READ);
  const { items } = await client.events.list({ after, limit: EVENTS_READ }, { signal });
  return items.filter((event) => event.mode === mode).toReversed();
}
