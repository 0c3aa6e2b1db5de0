import { createFeed, eventChannels, type Feed } from '@millrace/core/events';
import { systemClock } from '@millrace/platform/clock';
import type { OrgId } from '@millrace/platform/ids';
import type { NatsClient } from '@millrace/platform/nats';
import { testLog, type Random, type ReadEvent, type TestDatabase, type TestNames } from '@millrace/testing';

export interface ReaderView {
  readonly reader: string;
  readonly orgId: OrgId;
  readonly seen: readonly ReadEvent[];
}

type Done = (seen: number) => boolean;

const STREAM_TIMEOUT_MS = 2_000;

export function openFeed(database: TestDatabase, nats: NatsClient, names: TestNames): Feed {
  const channels = eventChannels(names.natsPrefix);
  return createFeed({ db: database.db, clock: systemClock, log: testLog('feed'), channels, nats });
}

export async function readByPages(feed: Feed, orgId: OrgId, random: Random, done: Done): Promise<ReaderView> {
  const seen: ReadEvent[] = [];
  while (!done(seen.length)) {
    const after = seen.at(-1)?.seq ?? 0;
    const page = await feed.page(orgId, { after, limit: random.int(1, 100), mode: 'live' });
    seen.push(...page.events);
    await systemClock.sleep(random.int(1, 40));
  }
  return { reader: 'pages', orgId, seen };
}

/** Follows the stream, disconnects at random points and reconnects after the last event that it saw. */
export async function readByStream(
  feed: Feed,
  orgId: OrgId,
  random: Random,
  done: Done,
): Promise<ReaderView> {
  const seen: ReadEvent[] = [];
  while (!done(seen.length)) {
    const leaving = new AbortController();
    const leaveAt = seen.length + random.int(1, 400);
    const impatience = systemClock.sleep(STREAM_TIMEOUT_MS, leaving.signal).then(
      () => leaving.abort(),
      () => undefined,
    );
    const after = seen.at(-1)?.seq ?? 0;
    for await (const event of await feed.follow(orgId, { after, mode: 'live', signal: leaving.signal })) {
      seen.push(event);
      if (seen.length >= leaveAt || done(seen.length)) break;
    }
    leaving.abort();
    await impatience;
  }
  return { reader: 'stream', orgId, seen };
}
