import { systemClock } from '@millrace/platform/clock';
import type { Db } from '@millrace/platform/db';
import type { OrgId } from '@millrace/platform/ids';
import { createRestateIngress } from '@millrace/platform/restate';
import {
  feedReaderProblems,
  connectTestNats,
  createRandom,
  createTestDatabase,
  eventually,
  killBackend,
  runWriters,
  testEndpoints,
  testIds,
  testLog,
  testNames,
  uniqueId,
  type Random,
  type ReadEvent,
  type WrittenEvents,
} from '@millrace/testing';
import { sql } from 'kysely';
import { afterAll, describe, expect, test } from 'vitest';
import { createFeed, ensureEventStream, eventChannels, startRelay, type Relay } from './index.ts';

const SEED = 20_261_115;
const names = testNames();
const channels = eventChannels(names.natsPrefix);
const log = testLog('relay');

const database = await createTestDatabase({ poolSize: 48 });
const nats = await connectTestNats();
await ensureEventStream(nats, channels, { replicas: 1, maxAgeMs: 3_600_000, maxBytes: 50_000_000 });
const feed = createFeed({ db: database.db, clock: systemClock, log, channels, nats });

afterAll(async () => {
  await feed.close();
  await nats.close();
  await database.drop();
});

function startTestRelay(db: Db = database.db): Promise<Relay> {
  return startRelay({
    db,
    clock: systemClock,
    log,
    holder: `relay-${uniqueId()}`,
    channels,
    nats,
    restate: createRestateIngress({ url: testEndpoints().restate.ingressUrl }),
    tuning: { leaseTtlMs: 250, pollMs: 5, publishIdleMs: 100, batchSize: 40 },
  });
}

/** Two relays that are repeatedly stopped and replaced, with leases so short that they also expire. */
async function fightingRelays(random: Random, over: AbortSignal): Promise<void> {
  const relays = [await startTestRelay(), await startTestRelay()];
  while (!over.aborted) {
    await systemClock.sleep(random.int(20, 200), over).catch(() => undefined);
    const victim = random.int(0, relays.length - 1);
    const replacement = await startTestRelay();
    await relays[victim]?.stop();
    relays[victim] = replacement;
  }
  await Promise.all(relays.map((relay) => relay.stop()));
}

async function readByPages(
  orgId: OrgId,
  random: Random,
  done: (seen: number) => boolean,
): Promise<ReadEvent[]> {
  const seen: ReadEvent[] = [];
  while (!done(seen.length)) {
    const after = seen.at(-1)?.seq ?? 0;
    const page = await feed.page(orgId, { after, limit: random.int(1, 50), mode: 'live' });
    seen.push(...page.events);
    await systemClock.sleep(random.int(0, 15));
  }
  return seen;
}

async function readByStream(
  orgId: OrgId,
  random: Random,
  done: (seen: number) => boolean,
): Promise<ReadEvent[]> {
  const seen: ReadEvent[] = [];
  while (!done(seen.length)) {
    const leaving = new AbortController();
    // The reader disconnects at a random point and resumes after the last number it saw.
    const leaveAfter = seen.length + random.int(5, 80);
    const impatience = systemClock.sleep(500, leaving.signal).then(
      () => leaving.abort(),
      () => undefined,
    );
    const stream = await feed.follow(orgId, {
      after: seen.at(-1)?.seq ?? 0,
      mode: 'live',
      signal: leaving.signal,
    });
    for await (const event of stream) {
      seen.push(event);
      if (seen.length >= leaveAfter || done(seen.length)) break;
    }
    leaving.abort();
    await impatience;
  }
  return seen;
}

test('startRelay starts when its connection is lost during the first claim, and claims leases later', async () => {
  let lost = 0;
  const fragile: Db = {
    ...database.db,
    transaction: (options, work) =>
      database.db.transaction(options, async (tx) => {
        if (lost === 0) {
          lost += 1;
          const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(tx.kysely);
          await killBackend(database, rows[0]?.pid ?? expect.fail('no pid'));
        }
        return work(tx);
      }),
  };
  const relay = await startTestRelay(fragile);
  await expect.poll(() => relay.shardsHeld().length).toBeGreaterThan(0);
  expect(lost).toBe(1);
  await relay.stop();
});

describe('the event feed with 32 writers, random commit delays and relays competing for short leases', () => {
  test(`shows every reader each committed event once, in order, numbered from 1 (seed ${SEED})`, async () => {
    const random = createRandom(SEED);
    const orgIds = Array.from({ length: 5 }, () => testIds.next('org'));
    const over = new AbortController();
    const fight = fightingRelays(random.fork(1_000), over.signal);

    let written: WrittenEvents | undefined;
    const writing = runWriters({
      db: database.db,
      random,
      orgIds,
      writers: 32,
      transactionsPerWriter: 12,
      maxCommitDelayMs: 40,
    }).then((result) => (written = result));
    const doneFor = (orgId: OrgId) => (seen: number) => seen >= (written?.byOrg.get(orgId)?.size ?? Infinity);
    const readers = orgIds.flatMap((orgId, index) => [
      readByPages(orgId, random.fork(2_000 + index), doneFor(orgId)).then((seen) => ({
        reader: 'pages',
        orgId,
        seen,
      })),
      readByStream(orgId, random.fork(3_000 + index), doneFor(orgId)).then((seen) => ({
        reader: 'stream',
        orgId,
        seen,
      })),
    ]);

    const result = await writing;
    const views = await Promise.all(readers);
    over.abort();
    await fight;

    expect(result.total).toBeGreaterThan(500);
    const problems = views.flatMap((view) => feedReaderProblems(view.reader, view.orgId, view.seen, result));
    expect(problems).toEqual([]);
  });

  test('publishes each event to JetStream exactly once under its id, with the envelope in the headers', async () => {
    const relay = await startTestRelay();
    await eventually({ what: 'nothing left unpublished' }, async () => {
      const { rows } = await database.query(
        'select count(*)::int as left from events where published_at is null',
      );
      return rows[0]?.left === 0;
    });
    await relay.stop();
    const { rows } = await database.query('select count(*)::int as stored from events');

    const seen = new Map<string, number>();
    const withoutEnvelope: string[] = [];
    const consumer = await nats.consume(
      { stream: channels.stream, durable: 'check', ackWaitMs: 30_000, maxInFlight: 1_000, maxDeliveries: -1 },
      async (message) => {
        const id = message.messageId ?? 'none';
        seen.set(id, (seen.get(id) ?? 0) + 1);
        const { envelope } = message;
        if (
          envelope === null ||
          envelope.cell !== 1 ||
          envelope.mode !== 'live' ||
          envelope.actor.id !== 'test'
        ) {
          withoutEnvelope.push(id);
        }
      },
    );
    await eventually({ what: 'all messages read back' }, () => seen.size >= Number(rows[0]?.stored));
    await consumer.close();
    expect(seen.size).toBe(rows[0]?.stored);
    expect([...seen.values()].filter((count) => count !== 1)).toEqual([]);
    expect(withoutEnvelope).toEqual([]);
  });
});
