import type { Db } from '@millrace/platform/db';
import type { OrgId } from '@millrace/platform/ids';
import type { NatsClient } from '@millrace/platform/nats';
import { eventFromMessage, type EventChannels, type FeedEvent } from './events.ts';
import { getFeedHead, insertLostEvents } from './events.store.ts';

/** Finds and restores events that are in the NATS stream but not in a database restored to an earlier point. */

type Streams = Pick<NatsClient, 'follow' | 'streamState'>;

export interface LostEvents {
  readonly orgId: OrgId;
  readonly firstSeq: number;
  readonly lastSeq: number;
  readonly count: number;
}

interface LostEventsDeps {
  readonly db: Db;
  readonly nats: Streams;
  readonly channels: Pick<EventChannels, 'stream'>;
}

const BATCH = 500;
const WAIT_MS = 2_000;

async function* readStream({ nats, channels }: LostEventsDeps): AsyncGenerator<readonly FeedEvent[]> {
  const state = await nats.streamState(channels.stream);
  if (state === null || state.firstSequence > state.lastSequence || state.lastSequence === 0) return;
  const spec = { stream: channels.stream, fromSequence: state.firstSequence, maxBuffered: BATCH };
  const follower = await nats.follow(spec);
  try {
    for (let at = 0; at < state.lastSequence;) {
      const taken = await follower.take(BATCH, WAIT_MS);
      if (taken.length === 0) throw new Error('NATS did not deliver the rest of the event stream in time.');
      at = taken.at(-1)?.sequence ?? state.lastSequence;
      yield taken.flatMap((message) => eventFromMessage(message.json()) ?? []);
    }
  } finally {
    await follower.close();
  }
}

async function* readLostEvents(deps: LostEventsDeps): AsyncGenerator<readonly FeedEvent[]> {
  const heads = new Map<OrgId, number>();
  for await (const events of readStream(deps)) {
    for (const { orgId } of events) {
      if (!heads.has(orgId)) heads.set(orgId, (await getFeedHead(deps.db, orgId)).lastSeq);
    }
    const lost = events.filter(({ orgId, seq }) => seq > (heads.get(orgId) ?? 0));
    if (lost.length > 0) yield lost;
  }
}

export async function findLostEvents(deps: LostEventsDeps): Promise<readonly LostEvents[]> {
  const found = new Map<OrgId, LostEvents>();
  for await (const events of readLostEvents(deps)) {
    for (const { orgId, seq } of events) {
      const before = found.get(orgId) ?? { orgId, firstSeq: seq, lastSeq: seq, count: 0 };
      found.set(orgId, {
        orgId,
        firstSeq: Math.min(before.firstSeq, seq),
        lastSeq: Math.max(before.lastSeq, seq),
        count: before.count + 1,
      });
    }
  }
  return [...found.values()];
}

/** Restores the numbers and ids that readers have seen. Call it only while no relay numbers events. */
export async function storeLostEvents(deps: LostEventsDeps): Promise<number> {
  let count = 0;
  for await (const events of readLostEvents(deps)) {
    await deps.db.transaction({ name: 'store lost events', isolation: 'read committed' }, (tx) =>
      insertLostEvents(tx, events),
    );
    count += events.length;
  }
  return count;
}
