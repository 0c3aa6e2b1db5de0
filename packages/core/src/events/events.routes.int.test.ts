import { systemClock } from '@millrace/platform/clock';
import type { HttpServer, Principal } from '@millrace/platform/http';
import type { OrgId } from '@millrace/platform/ids';
import type { NatsClient } from '@millrace/platform/nats';
import { appendOutbox } from '@millrace/platform/outbox';
import { createRestateIngress } from '@millrace/platform/restate';
import {
  createRouteServer,
  appendTestEvent,
  connectTestNats,
  createTestDatabase,
  eventually,
  openSse,
  principal,
  testEndpoints,
  testIds,
  testLog,
  testNames,
  uniqueId,
  type ReceivedEvent,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createFeed,
  ensureEventStream,
  eventChannels,
  serveEvents,
  startRelay,
  type Feed,
  type Relay,
} from './index.ts';

const channels = eventChannels(testNames().natsPrefix);
const log = testLog('feed');
const callers = new Map<string, Principal>();
let database: TestDatabase;
let nats: NatsClient;
let feed: Feed;
let relay: Relay;
let server: HttpServer;
let url: string;

beforeAll(async () => {
  database = await createTestDatabase();
  nats = await connectTestNats();
  await ensureEventStream(nats, channels, { replicas: 1, maxAgeMs: 3_600_000, maxBytes: 10_000_000 });
  const common = { db: database.db, clock: systemClock, log, channels, nats };
  feed = createFeed({ ...common, tuning: { maxFollowersPerOrganisation: 3 } });
  relay = await startRelay({
    ...common,
    holder: `relay-${uniqueId()}`,
    restate: createRestateIngress({ url: testEndpoints().restate.ingressUrl }),
    tuning: { pollMs: 5 },
  });
  server = createRouteServer({
    authenticate: async ({ key }) => callers.get(key) ?? principal(),
    log,
    limits: { sseHeartbeatMs: 50 },
  });
  serveEvents(server, feed);
  const { host, port } = await server.listen({ host: '127.0.0.1', port: 0 });
  url = `http://${host}:${port}/v2/events`;
});

afterAll(async () => {
  await server.drain();
  await server.close();
  await feed.close();
  await relay.stop();
  await nats.close();
  await database.drop();
});

function caller(fields: Parameters<typeof principal>[0]): { readonly authorization: string } {
  const key = `mr_test_${uniqueId()}`;
  callers.set(key, principal(fields));
  return { authorization: `Bearer ${key}` };
}

async function write(orgId: OrgId, names: readonly string[], mode: 'live' | 'test' = 'live'): Promise<void> {
  for (const name of names) {
    await database.db.transaction({ name: 'write', isolation: 'read committed' }, (tx) =>
      appendTestEvent(tx, orgId, { name, mode }),
    );
  }
}

async function get(query: string, headers: { authorization: string }) {
  const response = await fetch(`${url}${query}`, { headers });
  return { status: response.status, body: (await response.json()) as Record<string, never> };
}

const settled = (orgId: OrgId, count: number) =>
  eventually({ what: `${count} events in the feed` }, async () => {
    const { events } = await feed.page(orgId, { after: 0, limit: 200, mode: 'live' });
    return events.length === count;
  });

const nameOf = (event: ReceivedEvent) => (event.data as { data: { name: string } }).data.name;

async function take(events: AsyncGenerator<ReceivedEvent>, count: number): Promise<ReceivedEvent[]> {
  const taken: ReceivedEvent[] = [];
  while (taken.length < count) {
    const next = await events.next();
    if (next.done) break;
    taken.push(next.value);
  }
  return taken;
}

describe('GET /v2/events as pages', () => {
  test('returns events by after and limit, with the next position', async () => {
    const orgId = testIds.next('org');
    const headers = caller({ orgId });
    expect((await get('', headers)).body).toEqual({
      items: [],
      nextCursor: null,
      nextAfter: 0,
      lastSeq: 0,
    });
    await write(orgId, ['a', 'b', 'c']);
    await settled(orgId, 3);
    const first = await get('?limit=2', headers);
    expect(first.status).toBe(200);
    expect(first.body).toMatchObject({
      nextCursor: '2',
      nextAfter: 2,
      lastSeq: 3,
      items: [{ seq: 1, orgId }, { seq: 2 }],
    });
    const second = await get('?after=2', headers);
    expect(second.body).toMatchObject({
      nextCursor: null,
      nextAfter: 3,
      items: [{ seq: 3, data: { name: 'c' } }],
    });
    expect((await get('?after=3', headers)).body).toEqual({
      items: [],
      nextCursor: null,
      nextAfter: 3,
      lastSeq: 3,
    });
  });

  test('returns the current position and no events for after=latest', async () => {
    const orgId = testIds.next('org');
    const headers = caller({ orgId });
    const empty = { items: [], nextCursor: null };
    expect((await get('?after=latest', headers)).body).toEqual({ ...empty, nextAfter: 0, lastSeq: 0 });
    await write(orgId, ['a', 'b']);
    await settled(orgId, 2);
    const latest = await get('?after=latest', headers);
    expect(latest.body).toEqual({ ...empty, nextAfter: 2, lastSeq: 2 });
    await write(orgId, ['c']);
    await settled(orgId, 3);
    expect((await get('?after=2', headers)).body).toMatchObject({ items: [{ seq: 3 }] });
    expect((await get('?after=newest', headers)).status).toBe(400);
  });

  test('does not show an organisation the events of another', async () => {
    const orgId = testIds.next('org');
    await write(orgId, ['secret']);
    await settled(orgId, 1);
    expect((await get('', caller({}))).body).toMatchObject({ items: [] });
  });

  test('shows a test key test events only and a live key all events', async () => {
    const orgId = testIds.next('org');
    await write(orgId, ['l1']);
    await write(orgId, ['t1'], 'test');
    await write(orgId, ['l2']);
    await settled(orgId, 3);
    expect((await get('', caller({ orgId, mode: 'test' }))).body).toMatchObject({
      items: [{ seq: 2, mode: 'test' }],
    });
    expect((await get('', caller({ orgId }))).body).toMatchObject({
      items: [{ seq: 1 }, { seq: 2 }, { seq: 3 }],
    });
  });

  test('refuses a position that retention has passed instead of skipping events', async () => {
    const orgId = testIds.next('org');
    await write(orgId, ['a', 'b', 'c']);
    await settled(orgId, 3);
    await database.query(
      'delete from events where seq <= 2 and org_id = (select org_id from events where id is not null order by recorded_at desc limit 1)',
    );
    await database.query(
      'update event_heads set first_seq = 3 where org_id in (select org_id from events group by org_id having min(seq) = 3)',
    );
    const refused = await get('?after=1', caller({ orgId }));
    expect(refused.status).toBe(400);
    expect(refused.body).toMatchObject({
      reason: 'INVALID_CURSOR',
      suggestion: expect.stringContaining('after=2'),
    });
    expect((await get('?after=0', caller({ orgId }))).body).toMatchObject({ items: [{ seq: 3 }] });
    const stream = await openSse(`${url}?after=1`, caller({ orgId }));
    expect(stream.status).toBe(400);
  });
});

describe('GET /v2/events after a number ahead of the feed', () => {
  test('is refused, as after a restore of older data, instead of waiting for that number', async () => {
    const orgId = testIds.next('org');
    const headers = caller({ orgId });
    await write(orgId, ['a']);
    await settled(orgId, 1);
    expect((await get('?after=1', headers)).status).toBe(200);
    expect(await get('?after=2', headers)).toMatchObject({ status: 400, body: { reason: 'INVALID_CURSOR' } });
    const stream = await openSse(url, { ...headers, 'last-event-id': '9007199254740991' });
    expect(stream.status).toBe(400);
    expect(await stream.json()).toMatchObject({ reason: 'INVALID_CURSOR' });
  });
});

describe('GET /v2/events as a stream', () => {
  test('sends stored events, then new ones, with seq as id, and resumes by Last-Event-ID', async () => {
    const orgId = testIds.next('org');
    const headers = caller({ orgId });
    await write(orgId, ['a', 'b']);
    await settled(orgId, 2);
    const stream = await openSse(url, headers);
    expect(stream.status).toBe(200);
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    const events = stream.events();
    const caughtUp = await take(events, 2);
    await write(orgId, ['c']);
    const followed = await take(events, 1);
    expect([...caughtUp, ...followed].map((event) => [event.id, event.event, nameOf(event)])).toEqual([
      ['1', 'key.created', 'a'],
      ['2', 'key.created', 'b'],
      ['3', 'key.created', 'c'],
    ]);
    stream.close();
    await write(orgId, ['d']);
    const resumed = await openSse(`${url}?after=0`, { ...headers, 'last-event-id': '3' });
    expect((await take(resumed.events(), 1)).map(nameOf)).toEqual(['d']);
    resumed.close();
  });

  test('sends the start position and then only new events for after=latest', async () => {
    const orgId = testIds.next('org');
    const headers = caller({ orgId });
    await write(orgId, ['a', 'b']);
    await settled(orgId, 2);
    const stream = await openSse(`${url}?after=latest`, headers);
    const events = stream.events();
    expect(await take(events, 1)).toEqual([{ id: '2', event: null, data: null }]);
    await write(orgId, ['c']);
    expect((await take(events, 1)).map((event) => [event.id, nameOf(event)])).toEqual([['3', 'c']]);
    stream.close();
  });

  test('resumes a broken after=latest stream from Last-Event-ID, not from the latest event', async () => {
    const orgId = testIds.next('org');
    const headers = caller({ orgId });
    await write(orgId, ['a']);
    await settled(orgId, 1);
    const stream = await openSse(`${url}?after=latest`, headers);
    const [place] = await take(stream.events(), 1);
    stream.close();
    await write(orgId, ['b', 'c']);
    await settled(orgId, 3);
    const resumed = await openSse(`${url}?after=latest`, { ...headers, 'last-event-id': place?.id ?? '' });
    expect((await take(resumed.events(), 2)).map(nameOf)).toEqual(['b', 'c']);
    resumed.close();
  });

  test('sends comments to keep an idle connection open', async () => {
    const stream = await openSse(url, caller({}));
    void take(stream.events(), 1);
    await eventually({ what: 'two comments' }, () => stream.comments() >= 2);
    stream.close();
  });

  test('refuses a Last-Event-ID that is not a seq', async () => {
    const stream = await openSse(url, { ...caller({}), 'last-event-id': 'yesterday' });
    expect(stream.status).toBe(400);
    expect(await stream.json()).toMatchObject({ reason: 'INVALID_CURSOR' });
  });

  test('limits open streams per organisation and frees a slot when a stream closes', async () => {
    const orgId = testIds.next('org');
    const headers = caller({ orgId });
    const open = await Promise.all(Array.from({ length: 3 }, () => openSse(url, headers)));
    expect(open.map((stream) => stream.status)).toEqual([200, 200, 200]);
    const refused = await openSse(url, headers);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({
      reason: 'RATE_LIMITED',
      limit: { name: 'event-streams', scope: 'organisation', resetSeconds: expect.any(Number) },
    });
    const other = await openSse(url, caller({}));
    expect(other.status).toBe(200);
    open[0]?.close();
    await eventually({ what: 'a free place' }, async () => {
      const next = await openSse(url, headers);
      next.close();
      return next.status === 200;
    });
    for (const stream of [...open, other]) stream.close();
  });

  test('ends the stream after the event that its own key was revoked', async () => {
    const orgId = testIds.next('org');
    const keyId = testIds.next('key');
    const stream = await openSse(url, caller({ orgId, keyId }));
    await database.db.transaction({ name: 'revoke', isolation: 'read committed' }, (tx) =>
      appendOutbox(tx, {
        kind: 'event',
        orgId,
        mode: 'live',
        type: 'key.revoked',
        resource: { kind: 'api-key', id: keyId },
        data: { keyId },
        actor: { kind: 'system', id: 'test' },
        occurredAt: systemClock.now(),
      }),
    );
    const seen: (string | null)[] = [];
    for await (const event of stream.events()) seen.push(event.event);
    expect(seen).toEqual(['key.revoked']);
  });
});
