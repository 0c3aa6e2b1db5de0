import { ensureUsageStream, startUsageSink, usageSubjects, type UsageEvent } from '@millrace/core/inference';
import { systemClock } from '@millrace/platform/clock';
import { toUuid, type RequestId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import {
  connectTestNats,
  createTestDatabase,
  eventually,
  startTcpProxy,
  testEndpoints,
  testLog,
  testNames,
  uniqueId,
} from '@millrace/testing';
import { afterAll, expect, it, onTestFinished } from 'vitest';
import { createUsageReporter } from './usage-reporter.ts';
import { usageEventOf } from './usage.fixture.ts';

/** Reporter, stream and sink together on real engines, with test usage: charging has its own tests. */

const log = createLogger({ name: 'test', level: 'silent' });
const database = await createTestDatabase();
const nats = await connectTestNats();
afterAll(async () => {
  await nats.close();
  await database.drop();
});

const freeEvent = () =>
  usageEventOf({ mode: 'test', leaseId: null, reservedNanoUsd: '0', amountNanoUsd: '0', pricedNanoUsd: '0' });

/** How many of these events are recorded. */
async function recorded(events: readonly UsageEvent[]): Promise<number> {
  const ids = events.map(({ requestId }) => toUuid(requestId as RequestId));
  const text = 'select count(*)::int as count from inference_requests where id = any($1::uuid[])';
  const { rows } = await database.query<{ count: number }>(text, [ids]);
  return rows[0]?.count ?? 0;
}

async function makeStream(maxBytes: number) {
  const { natsPrefix: prefix } = testNames();
  await ensureUsageStream(database.db, nats, { prefix, cell: 1, replicas: 1, maxBytes });
  const { stream } = usageSubjects(prefix, 1);
  const startSink = () =>
    startUsageSink({
      db: database.db,
      nats,
      clock: systemClock,
      log: testLog(),
      stream,
      holder: uniqueId(),
      tuning: { gatherMs: 5, maintenanceIntervalMs: 50 },
    });
  return { prefix, stream, startSink };
}

it('usage reporter keeps events that a full stream rejects, reports full, and loses none when the sink catches up', async () => {
  const { prefix, startSink } = await makeStream(100_000);
  const reporter = createUsageReporter({
    nats,
    clock: systemClock,
    log,
    prefix,
    cell: 1,
    maxUnacknowledged: 200,
  });
  const events = Array.from({ length: 1_000 }, freeEvent);
  const stored = new Set<string>();
  for (const event of events) reporter.report(event, () => stored.add(event.requestId));
  await eventually({ what: 'some to be stored' }, () => stored.size > 0);
  const sizes = new Set<number>();
  await eventually({ what: 'the stream to be full', intervalMs: 300 }, () => {
    const isSteady = sizes.has(stored.size);
    sizes.add(stored.size);
    return isSteady;
  });
  expect(stored.size).toBeLessThan(1_000);
  expect(reporter.isFull()).toBe(true);

  const sink = startSink();
  onTestFinished(() => sink.stop());
  await eventually({ what: 'all to be stored', timeoutMs: 30_000 }, () => stored.size === 1_000);
  expect(reporter.isFull()).toBe(false);
  await reporter.close();
  await eventually({ what: 'all rows' }, async () => (await recorded(events)) === 1_000);
});

it('usage reporter stores every event once over a connection that is cut repeatedly', async () => {
  const [server = expect.fail('no server')] = testEndpoints().natsUrls;
  const proxy = await startTcpProxy(server);
  onTestFinished(() => proxy.close());
  const fragile = await connectTestNats({ servers: [proxy.rewrite(server)] });
  onTestFinished(() => fragile.close());
  const { prefix, startSink } = await makeStream(10_000_000);
  const sink = startSink();
  onTestFinished(() => sink.stop());
  const reporter = createUsageReporter({ nats: fragile, clock: systemClock, log, prefix, cell: 1 });
  const events: UsageEvent[] = [];
  const stored: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    for (let nth = 0; nth < 20; nth += 1) {
      const event = freeEvent();
      events.push(event);
      reporter.report(event, () => stored.push(event.requestId));
    }
    if (round % 5 === 4) proxy.dropConnections();
    await nats.ping().catch(() => undefined);
  }
  await eventually({ what: 'all to be stored' }, () => stored.length >= events.length);
  await reporter.close();
  expect(stored.toSorted()).toEqual(events.map(({ requestId }) => requestId).toSorted());
  await eventually({ what: 'all rows' }, async () => (await recorded(events)) === events.length);
});

it('usage reporter discards events that cannot be stored in time, without calling back', async () => {
  const [server = expect.fail('no server')] = testEndpoints().natsUrls;
  const proxy = await startTcpProxy(server);
  onTestFinished(() => proxy.close());
  const cut = await connectTestNats({ servers: [proxy.rewrite(server)] });
  onTestFinished(() => cut.close());
  const { prefix } = await makeStream(1_000_000);
  proxy.cut();
  const reporter = createUsageReporter({ nats: cut, clock: systemClock, log, prefix, cell: 1, closeMs: 100 });
  let isConfirmed = false;
  reporter.report(freeEvent(), () => (isConfirmed = true));
  await reporter.close();
  expect(isConfirmed).toBe(false);
});
