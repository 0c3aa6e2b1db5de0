import { systemClock } from '@millrace/platform/clock';
import { toUuid, type OrgId } from '@millrace/platform/ids';
import { createRestateIngress } from '@millrace/platform/restate';
import {
  appendTestEvent,
  connectTestNats,
  createTestDatabase,
  eventually,
  killBackends,
  waitForPoolRecovery,
  startTcpProxy,
  testEndpoints,
  testIds,
  testLog,
  testNames,
  uniqueId,
} from '@millrace/testing';
import { afterAll, describe, expect, test } from 'vitest';
import { createFeed, ensureEventStream, eventChannels, startRelay } from './index.ts';

const channels = eventChannels(testNames().natsPrefix);
const log = testLog('relay').child({}, { level: 'silent' });

const database = await createTestDatabase();
const [server] = testEndpoints().natsUrls;
if (server === undefined) throw new Error('No NATS server is known.');
const proxy = await startTcpProxy(server);
const nats = await connectTestNats();
const natsBehindProxy = await connectTestNats({ servers: [proxy.rewrite(server)] });
await ensureEventStream(nats, channels, { replicas: 1, maxAgeMs: 3_600_000, maxBytes: 10_000_000 });
const common = { db: database.db, clock: systemClock, log, channels, nats: natsBehindProxy };
const feed = createFeed({ ...common, tuning: { checkWhileAwayMs: 30 } });
const relay = await startRelay({
  ...common,
  holder: `relay-${uniqueId()}`,
  restate: createRestateIngress({ url: testEndpoints().restate.ingressUrl }),
  tuning: { leaseTtlMs: 30_000, pollMs: 5, publishIdleMs: 50, publishTimeoutMs: 500 },
});

afterAll(async () => {
  await relay.stop();
  await feed.close();
  await natsBehindProxy.close();
  await nats.close();
  await proxy.close();
  await database.drop();
});

function write(orgId: OrgId, name: string): Promise<unknown> {
  return database.db.transaction({ name: 'write', isolation: 'read committed' }, (tx) =>
    appendTestEvent(tx, orgId, { name }),
  );
}

/** Starts to stream `count` events; the returned function resolves with their names. */
async function follow(orgId: OrgId, count: number): Promise<() => Promise<string[]>> {
  const leaving = new AbortController();
  const stream = await feed.follow(orgId, { after: 0, mode: 'live', signal: leaving.signal });
  const reading = (async () => {
    const names: string[] = [];
    for await (const event of stream) {
      names.push(`${event.seq} ${String(event.data['name'])}`);
      if (names.length === count) break;
    }
    return names;
  })();
  return () => reading;
}

/** Whether the feed of this organisation has exactly these counts. */
async function hasCome(orgId: OrgId, far: { readonly published: number; readonly unpublished: number }) {
  const { rows } = await database.query<{ published: number; stored: number }>(
    'select count(published_at)::int as published, count(*)::int as stored from events where org_id = $1',
    [toUuid(orgId)],
  );
  const [row] = rows;
  return row?.published === far.published && row.stored - row.published === far.unpublished;
}

describe('while NATS is unreachable', () => {
  test('streams read PostgreSQL, and after recovery every event is published once under its id', async () => {
    const orgId = testIds.next('org');
    const names = await follow(orgId, 9);
    for (const name of ['a', 'b', 'c']) await write(orgId, name);
    await eventually({ what: 'the first three published' }, () =>
      hasCome(orgId, { published: 3, unpublished: 0 }),
    );

    proxy.cut();
    await eventually({ what: 'the client to notice' }, () => !natsBehindProxy.connected());
    for (const name of ['d', 'e', 'f']) await write(orgId, name);
    await eventually({ what: 'three stored and unpublished' }, () =>
      hasCome(orgId, { published: 3, unpublished: 3 }),
    );

    proxy.heal();
    for (const name of ['g', 'h', 'i']) await write(orgId, name);
    expect(await names()).toEqual(
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map((name, index) => `${index + 1} ${name}`),
    );
    await eventually({ what: 'all published', timeoutMs: 20_000 }, () =>
      hasCome(orgId, { published: 9, unpublished: 0 }),
    );

    const seen: (string | null)[] = [];
    const consumer = await nats.consume(
      { stream: channels.stream, durable: 'outage', ackWaitMs: 30_000, maxInFlight: 100, maxDeliveries: -1 },
      async (message) => {
        if (message.subject.includes(orgId)) seen.push(message.messageId);
      },
    );
    await eventually({ what: 'nine messages' }, () => seen.length >= 9);
    await consumer.close();
    expect(new Set(seen).size).toBe(9);
    expect(seen).toHaveLength(9);
  });
});

describe('when NATS messages are lost', () => {
  test('a stream detects a gap or a missing newest event and reads PostgreSQL', async () => {
    const orgId = testIds.next('org');
    const names = await follow(orgId, 4);
    await write(orgId, 'a');
    await eventually(
      { what: 'a stored' },
      async () => (await feed.page(orgId, { after: 0, limit: 9, mode: 'live' })).events.length === 1,
    );
    // A stalled network: the connection looks open but delivers nothing, so the newest event is missing for a while.
    proxy.pause();
    for (const name of ['b', 'c']) await write(orgId, name);
    await eventually(
      { what: 'c stored' },
      async () => (await feed.page(orgId, { after: 0, limit: 9, mode: 'live' })).events.length === 3,
    );
    proxy.dropConnections();
    proxy.heal();
    await write(orgId, 'd');
    expect(await names()).toEqual(['1 a', '2 b', '3 c', '4 d']);
  });
});

describe('when PostgreSQL ends every session', () => {
  test('the relay reconnects and no event is lost or duplicated', async () => {
    const orgId = testIds.next('org');
    await write(orgId, 'a');
    await killBackends(database);
    await waitForPoolRecovery(database.db);
    await write(orgId, 'b');
    await eventually({ what: 'both in the feed' }, async () => {
      const page = await feed.page(orgId, { after: 0, limit: 10, mode: 'live' });
      return page.events.length === 2;
    });
    const { events } = await feed.page(orgId, { after: 0, limit: 10, mode: 'live' });
    expect(events.map((event) => [event.seq, event.data['name']])).toEqual([
      [1, 'a'],
      [2, 'b'],
    ]);
  });
});
