import {
  createFeed,
  defaultRelayTuning,
  ensureEventStream,
  eventChannels,
  startRelay,
  type EventChannels,
  type Feed,
} from '@millrace/core/events';
import { atLeast, atMost, defineBench } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import type { OrgId } from '@millrace/platform/ids';
import { floorDivide, perSecond, ratio } from '@millrace/platform/money';
import type { NatsClient } from '@millrace/platform/nats';
import { createRestateIngress } from '@millrace/platform/restate';
import { ensureUp } from '@millrace/services';
import {
  appendTestEvent,
  connectTestNats,
  createTestDatabase,
  eventually,
  testEndpoints,
  testIds,
  testLog,
  testNames,
  type TestDatabase,
} from '@millrace/testing';

const BACKLOG = 20_000;
const ORGANISATIONS = 50;
const BASELINE_MESSAGES = 5_000;
const IN_FLIGHT = 500;
const MESSAGE_BYTES = 500;
/** Relative to the engines' own time for the same hops, without the relay's polling pause. Measured: 8. */
const COMMIT_TO_STREAM_TIMES = 16;

function write(database: TestDatabase, orgId: OrgId): Promise<unknown> {
  return database.db.transaction({ name: 'write', isolation: 'read committed' }, (tx) =>
    appendTestEvent(tx, orgId, { name: 'bench' }),
  );
}

/** Commits one event and resolves when an open stream delivers it. */
async function createCommitToStream(database: TestDatabase, feed: Feed): Promise<() => Promise<void>> {
  const orgId = testIds.next('org');
  const { signal } = new AbortController();
  const stream = await feed.follow(orgId, { after: 0, mode: 'live', signal });
  return async () => {
    await write(database, orgId);
    await stream.next();
  };
}

/** One row of the same size in an unobserved table, as the cost of PostgreSQL alone. */
async function createBaselineTransaction(database: TestDatabase): Promise<() => Promise<void>> {
  const client = await database.connect();
  await client.query(
    'create table bench_rows (id bigint generated always as identity primary key, payload jsonb)',
  );
  const payload = JSON.stringify({ padding: 'x'.repeat(MESSAGE_BYTES) });
  return async () => {
    await client.query('begin');
    await client.query('insert into bench_rows (payload) values ($1)', [payload]);
    await client.query('commit');
  };
}

const envelope = {
  cell: 1,
  mode: 'live',
  actor: { kind: 'system', id: 'bench' },
  schemaVersion: 1,
  traceparent: null,
} as const;

/** An event's hops without our code: a notifying commit, a commit by the listener, a publish, a follower that reads a row. */
async function createBaselineHops(
  database: TestDatabase,
  nats: NatsClient,
  channels: EventChannels,
): Promise<() => Promise<void>> {
  const [writer, mover] = [await database.connect(), await database.connect()];
  await writer.query(
    'create table bench_hops (id bigint generated always as identity primary key, payload jsonb)',
  );
  const payload = JSON.stringify({ padding: 'x'.repeat(MESSAGE_BYTES) });
  const insert = 'insert into bench_hops (payload) values ($1)';
  const subject = channels.subjectOf({ cell: 1, orgId: testIds.next('org'), type: 'key.created' });
  const last = (await nats.streamState(channels.stream))?.lastSequence ?? 0;
  const follower = await nats.follow({ stream: channels.stream, fromSequence: last + 1, maxBuffered: 1_000 });
  await mover.query('listen bench_hops');
  let received: () => void = () => undefined;
  mover.on('notification', () => received());
  return async () => {
    const notified = new Promise<void>((resolve) => (received = resolve));
    await writer.query('begin');
    await writer.query(insert, [payload]);
    await writer.query("notify bench_hops, 'written'");
    await writer.query('commit');
    await notified;
    await mover.query('begin');
    await mover.query(insert, [payload]);
    await mover.query('commit');
    await nats.publish(subject, { payload }, { messageId: testIds.next('evt'), envelope });
    // The stream also contains messages of the other variants.
    for (let isOwn = false; !isOwn;)
      isOwn = (await follower.take(100, 5_000)).some((message) => message.subject === subject);
    await mover.query('select payload from bench_hops order by id desc limit 1');
  };
}

/** Fills the outbox with plain SQL, so that only the relay is measured. */
async function fillOutbox(database: TestDatabase, count: number): Promise<void> {
  const orgIds = Array.from({ length: ORGANISATIONS }, () => testIds.next('org'));
  for (const orgId of orgIds) await write(database, orgId);
  const client = await database.connect();
  await client.query(
    `insert into outbox (id, kind, cell, shard, org_id, mode, type, resource_kind, resource_id, payload, actor,
                         schema_version, occurred_at)
     select overlay(gen_random_uuid()::text placing '7' from 15 for 1)::uuid, kind, cell, shard, org_id, mode, type, resource_kind, resource_id, payload, actor,
            schema_version, occurred_at
       from outbox cross join generate_series(2, $1)`,
    [floorDivide(count, ORGANISATIONS)],
  );
  await client.end();
}

/** Publishes the same messages directly to JetStream, with as many in flight as the relay has. */
async function publishBaseline(nats: NatsClient, channels: EventChannels, count: number): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  for (let sent = 0; sent < count; sent += IN_FLIGHT) {
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, () => {
        const subject = channels.subjectOf({ cell: 1, orgId: testIds.next('org'), type: 'key.created' });
        const body = { padding: 'x'.repeat(MESSAGE_BYTES) };
        return nats.publish(subject, body, { messageId: testIds.next('evt'), envelope });
      }),
    );
  }
  return systemClock.monotonicMs() - startedMs;
}

async function countOf(database: TestDatabase, table: string, where: string): Promise<number> {
  const client = await database.connect();
  const { rows } = await client.query<{ n: number }>(
    `select count(*)::int as n from ${table} where ${where}`,
  );
  await client.end();
  return rows[0]?.n ?? 0;
}

export const bench = defineBench({
  name: 'event-feed',
  about:
    'Time from a commit to an open event stream, compared with the same hops without our code; and the rate at which relays process a backlog.',
  counts: null,
  async run({ measure, note }) {
    await ensureUp(['postgres', 'valkey', 'nats', 'restate']);
    await using database = await createTestDatabase({ isSynced: true, poolSize: 20 });
    const channels = eventChannels(testNames().natsPrefix);
    const nats = await connectTestNats();
    await ensureEventStream(nats, channels, { replicas: 1, maxAgeMs: 3_600_000, maxBytes: 200_000_000 });
    const common = { db: database.db, clock: systemClock, log: testLog('bench'), channels, nats };
    const restate = createRestateIngress({ url: testEndpoints().restate.ingressUrl });
    const feed = createFeed(common);
    try {
      await fillOutbox(database, BACKLOG);
      const startedMs = systemClock.monotonicMs();
      const relay = await startRelay({ ...common, restate, holder: 'bench' });
      await eventually(
        { what: 'an empty outbox', timeoutMs: 120_000, intervalMs: 10 },
        async () => (await countOf(database, 'outbox', 'true')) === 0,
      );
      const movedMs = systemClock.monotonicMs() - startedMs;
      // Until here the relay shares its core between moving and publishing.
      const unpublished = await countOf(database, 'events', 'published_at is null');
      await eventually(
        { what: 'all published', timeoutMs: 300_000, intervalMs: 50 },
        async () => (await countOf(database, 'events', 'published_at is null')) === 0,
      );
      const publishedMs = systemClock.monotonicMs() - startedMs;
      const publishedPerSecond = Math.round(perSecond(unpublished, publishedMs - movedMs));
      const bareMs = await publishBaseline(nats, channels, BASELINE_MESSAGES);
      note(
        `backlog of ${BACKLOG}: moved in ${Math.round(movedMs)} ms, published in ${Math.round(publishedMs)} ms`,
      );

      const sides = await measure(
        {
          'bare transaction': await createBaselineTransaction(database),
          'bare hops': await createBaselineHops(database, nats, channels),
          'commit to stream': await createCommitToStream(database, feed),
        },
        { concurrency: 1 },
      );
      await relay.stop();
      const barePerSecond = Math.round(perSecond(BASELINE_MESSAGES, bareMs));
      const movingMs = Math.max(0, sides['commit to stream'].p50Ms - defaultRelayTuning.pollMs);
      const addedMs = Math.round(
        Math.max(0, sides['commit to stream'].p50Ms - sides['bare transaction'].p50Ms),
      );
      return {
        figures: {
          ...sides,
          'events moved per second': Math.round(perSecond(BACKLOG, movedMs)),
          'bare JetStream publishes per second': barePerSecond,
          'events published per second': publishedPerSecond,
          'commit to stream, beyond the transaction, p50 ms': addedMs,
        },
        bars: [
          atMost(
            'commit to stream without the pause of the relay, times the bare hops',
            COMMIT_TO_STREAM_TIMES,
            Number(ratio(movingMs, sides['bare hops'].p50Ms).toFixed(2)),
          ),
          atLeast(
            'events moved, as a share of bare JetStream',
            0.3,
            ratio(perSecond(BACKLOG, movedMs), barePerSecond),
          ),
          atLeast(
            'events published, as a share of bare JetStream',
            0.3,
            ratio(publishedPerSecond, barePerSecond),
          ),
        ],
      };
    } finally {
      await feed.close();
      await nats.close();
    }
  },
});
