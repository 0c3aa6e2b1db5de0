import { ensureEventStream, eventChannels } from '@millrace/core/events';
import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import type { OrgId } from '@millrace/platform/ids';
import type { NatsClient } from '@millrace/platform/nats';
import { ensureUp } from '@millrace/services';
import {
  feedReaderProblems,
  connectTestNats,
  createTestDatabase,
  runWriters,
  createRandom,
  startTcpProxy,
  startWorkerProcess,
  testIds,
  testNames,
  type TestDatabase,
  type TestNames,
  type WrittenEvents,
} from '@millrace/testing';
import { runFaults } from './event-feed/faults.ts';
import { openFeed, readByPages, readByStream, type ReaderView } from './event-feed/readers.ts';
import { waitWhileProgress } from './timing/progress.ts';

interface Size {
  readonly organisations: number;
  readonly transactionsPerWriter: number;
  readonly maxCommitDelayMs: number;
  readonly minimumFaults: number;
}

const WRITERS = 32;
const RELAYS = 2;
const LEASE_MS = 400;
const STUCK_AFTER_MS = 120_000;

export const proof = defineProof({
  name: 'event-feed',
  proves:
    'With 32 writers, random commit delays and real relays that are killed, frozen past their lease and cut from NATS, a reader at after=SEQ sees every committed event once and in order, by page and by stream, and JetStream stores each event exactly once.',
  short: (run) =>
    prove(run, { organisations: 4, transactionsPerWriter: 60, maxCommitDelayMs: 300, minimumFaults: 4 }),
  long: (run) =>
    prove(run, { organisations: 12, transactionsPerWriter: 600, maxCommitDelayMs: 300, minimumFaults: 60 }),
});

async function prove(run: ProofRun, size: Size): Promise<ProofReport> {
  const { natsUrls } = await ensureUp(['postgres', 'valkey', 'nats', 'restate']);
  const [natsUrl] = natsUrls;
  if (natsUrl === undefined) throw new Error('No NATS server is known.');
  await using database = await createTestDatabase({ poolSize: WRITERS + 16, statementTimeoutMs: 30_000 });
  await using proxy = await startTcpProxy(natsUrl);
  const names = testNames();
  const nats = await connectTestNats();
  try {
    const channels = eventChannels(names.natsPrefix);
    await ensureEventStream(nats, channels, { replicas: 1, maxAgeMs: 3_600_000, maxBytes: 200_000_000 });
    const random = createRandom(run.seed);
    const over = new AbortController();
    const faults = runFaults({
      database,
      names,
      random: random.fork(1),
      proxy,
      natsUrl: proxy.rewrite(natsUrl),
      relays: RELAYS,
      leaseMs: LEASE_MS,
      minimumFaults: size.minimumFaults,
      over: over.signal,
      note: (line) => run.note(line),
    });
    // Faults continue until all readers are done. The race makes a failed fault stop the proof at once.
    const { views, written, elapsedMs } = await Promise.race([
      writeAndRead({ database, nats, names, run, size }),
      faults.then(() => Promise.reject(new Error('The faults ended before the readers.'))),
    ]).finally(() => over.abort());
    const counts = await faults;
    const published = await checkPublished({ database, nats, names }, written);
    const failures = [
      ...views.flatMap((view) => feedReaderProblems(view.reader, view.orgId, view.seen, written)),
      ...published,
    ];
    return {
      figures: {
        'events committed': written.total,
        organisations: size.organisations,
        readers: views.length,
        'relays killed with kill -9': counts.killed,
        'relays frozen past their lease': counts.frozen,
        'relays stopped gracefully': counts.stopped,
        'NATS outages': counts.natsOutages,
        'seconds until all readers had all events': Math.round(elapsedMs * 0.001),
        'skipped, repeated or misordered events': failures.length,
      },
      failures,
    };
  } finally {
    await nats.close();
  }
}

async function writeAndRead(context: {
  readonly database: TestDatabase;
  readonly nats: NatsClient;
  readonly names: TestNames;
  readonly run: ProofRun;
  readonly size: Size;
}): Promise<{ views: ReaderView[]; written: WrittenEvents; elapsedMs: number }> {
  const { database, nats, names, run, size } = context;
  const random = createRandom(run.seed).fork(2);
  const orgIds = Array.from({ length: size.organisations }, () => testIds.next('org'));
  const feed = openFeed(database, nats, names);
  const startedMs = systemClock.monotonicMs();
  try {
    // The number of events is known only after all writers are done; until then no reader is done.
    const totals = new Map<OrgId, number>();
    const doneFor = (orgId: OrgId) => (seen: number) =>
      seen >= (totals.get(orgId) ?? Number.POSITIVE_INFINITY);
    const reading = orgIds.flatMap((orgId, index) => [
      readByPages(feed, orgId, random.fork(1_000 + index), doneFor(orgId)),
      readByStream(feed, orgId, random.fork(2_000 + index), doneFor(orgId)),
    ]);
    const written = await runWriters({ ...size, db: database.db, random, orgIds, writers: WRITERS });
    for (const [orgId, ids] of written.byOrg) totals.set(orgId, ids.size);
    run.note(`${written.total} events committed, waiting for the readers`);
    const views = await Promise.all(reading);
    return { views, written, elapsedMs: systemClock.monotonicMs() - startedMs };
  } finally {
    await feed.close();
  }
}

/** One undisturbed worker publishes the remaining events; the stream must then contain each event once. */
async function checkPublished(
  context: { readonly database: TestDatabase; readonly nats: NatsClient; readonly names: TestNames },
  written: WrittenEvents,
): Promise<string[]> {
  const { database, nats, names } = context;
  await using worker = await startWorkerProcess({ database, names, name: 'calm' });
  const publishedMs = await waitWhileProgress({ stuckAfterMs: STUCK_AFTER_MS }, async () => {
    const { rows } = await database.query<{ left: number }>(
      'select count(*)::int as left from events where published_at is null',
    );
    return rows[0]?.left === 0 ? null : String(rows[0]?.left);
  });
  if (publishedMs === null) throw new Error('Some events were not published.');
  await worker.stop();

  const copies = new Map<string, number>();
  let messages = 0;
  const consumer = await nats.consume(
    {
      stream: eventChannels(names.natsPrefix).stream,
      durable: 'proof',
      ackWaitMs: 60_000,
      maxInFlight: 2_000,
      maxDeliveries: -1,
    },
    async (message) => {
      messages += 1;
      const id = message.messageId ?? 'none';
      copies.set(id, (copies.get(id) ?? 0) + 1);
    },
  );
  const readMs = await waitWhileProgress({ stuckAfterMs: STUCK_AFTER_MS }, async () =>
    messages >= written.total ? null : String(messages),
  );
  if (readMs === null) throw new Error(`The stream delivered ${messages} of ${written.total} events.`);
  await consumer.close();
  const doubled = [...copies.values()].filter((count) => count > 1).length;
  const problems: string[] = [];
  if (doubled > 0) problems.push(`JetStream holds ${doubled} events more than once`);
  if (copies.size !== written.total)
    problems.push(`JetStream holds ${copies.size} of ${written.total} events`);
  return problems;
}
