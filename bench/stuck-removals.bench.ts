import { atMost, defineBench, processorUs, type BenchRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { toUuid, type ClusterId } from '@millrace/platform/ids';
import { ensureUp } from '@millrace/services';
import {
  createTenant,
  createTestDatabase,
  insertFleet,
  insertRentals,
  startWorkerProcess,
  testNames,
  type TestDatabase,
  type WorkerProcess,
} from '@millrace/testing';

/** Ended rentals whose machines cannot be removed, because their cluster is unreachable. */
const REMOVALS = 1_000;
const WINDOW_MS = 120_000;
const QUICK_WINDOW_MS = 20_000;
/** In its first seconds a worker compiles its code and connects. */
const WARM_UP_MS = 15_000;
const MAX_CORE_PERCENT = 5;

/** Share of one core that the worker uses, in percent. */
async function corePercent(worker: WorkerProcess, windowMs: number): Promise<number> {
  const [startedMs, before] = [systemClock.monotonicMs(), processorUs(worker.pid)];
  await systemClock.sleep(windowMs);
  const usedMs = (processorUs(worker.pid) - before) / 1_000;
  return Math.round((usedMs / (systemClock.monotonicMs() - startedMs)) * 10_000) / 100;
}

/** Rows as after hours without contact: each removal failed often, and its next attempt is within the hour. */
async function insertStuckRentals(database: TestDatabase, clusterId: ClusterId): Promise<void> {
  const client = await database.connect();
  await client.query(
    `update rentals set status = 'Terminating', task = 'release', task_deadline_at = created_at, end_accepted_at = created_at,
            next_action_at = now() + (wire_id % $1) * interval '3.6 seconds',
            deadline_at = now() + (wire_id % $1) * interval '3.6 seconds' + interval '15 minutes'`,
    [REMOVALS],
  );
  await client.query(
    `update rental_machines as machine
        set state = 'doomed', doomed_at = now() - interval '3 hours', tries = 12, last_error = 'The cluster is unreachable.',
            next_try_at = rental.next_action_at
       from rentals as rental where rental.id = machine.rental_id and machine.cluster_id = $1`,
    [toUuid(clusterId)],
  );
  await client.query('vacuum analyze');
  await client.end();
}

async function attemptCount(database: TestDatabase): Promise<number> {
  const client = await database.connect();
  const { rows } = await client.query<{ tries: string }>('select sum(tries) as tries from rental_machines');
  await client.end();
  return Number(rows[0]?.tries ?? 0);
}

async function measure(run: BenchRun): Promise<{ idle: number; stuck: number; rounds: number }> {
  await ensureUp(['postgres', 'valkey', 'nats', 'restate']);
  const windowMs = run.quick ? QUICK_WINDOW_MS : WINDOW_MS;
  const database = await createTestDatabase();
  try {
    const fleet = await insertFleet(database.db, { nodes: 130, driver: 'incus' });
    const client = await database.connect();
    // No program listens on this port.
    await client.query(
      `update clusters set endpoint = 'https://127.0.0.1:1', status = 'silent', status_since = now() - interval '3 hours'`,
    );
    await client.end();
    await using worker = await startWorkerProcess({ database, names: testNames() });
    await systemClock.sleep(WARM_UP_MS);
    const idle = await corePercent(worker, windowMs);
    const { orgId, ownerId: userId } = await createTenant(database.db);
    await insertRentals(database.db, { ...fleet, orgId, userId, live: REMOVALS, brief: true });
    await insertStuckRentals(database, fleet.clusterId);
    await systemClock.sleep(WARM_UP_MS);
    const before = await attemptCount(database);
    const stuck = await corePercent(worker, windowMs);
    return { idle, stuck, rounds: (await attemptCount(database)) - before };
  } finally {
    await database.drop();
  }
}

export const bench = defineBench({
  name: 'stuck-removals',
  about: `The share of a core that a real worker uses for ${REMOVALS} removals on an unreachable cluster, compared with the same worker without them.`,
  counts: null,
  async run(run) {
    const { idle, stuck, rounds } = await measure(run);
    const cost = Math.max(0, Math.round((stuck - idle) * 100) / 100);
    return {
      figures: {
        'worker without stuck removals, % of a core': idle,
        [`worker with ${REMOVALS} stuck removals, % of a core`]: stuck,
        'stuck removals alone, % of a core': cost,
        'removals tried in the window': rounds,
      },
      bars: [atMost('stuck removals alone, % of a core', MAX_CORE_PERCENT, cost)],
    };
  },
});
