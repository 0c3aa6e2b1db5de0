import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { defineProof, type ProofReport, type ProofRun } from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { ensureUp } from '@millrace/services';
import {
  createRandom,
  createTestDatabase,
  makeCertificate,
  startWebhookReceiver,
  startWorkerProcess,
  testNames,
  type Random,
  type TestDatabase,
  type WorkerProcess,
} from '@millrace/testing';
import { waitWhileProgress } from './timing/progress.ts';
import { checkDeliveries } from './webhooks/checker.ts';
import { insertTenants, insertWebhook, writeEvents, type TestWebhook } from './webhooks/tenants.ts';

interface Size {
  readonly tenants: number;
  readonly workers: number;
  readonly kills: number;
  readonly freezes: number;
  /** Number of events written at full speed; then a few more until the faults are over. */
  readonly events: number;
}

/** The only address that workers may connect to, and an internal one. */
const ALLOWED_ADDRESS = '127.0.0.2';
const INTERNAL_ADDRESS = '127.0.0.1';
const LEASE_MS = 2_000;

export const proof = defineProof({
  name: 'webhooks',
  proves:
    'Workers are killed with kill -9 and frozen past their leases while they relay and send. Every event still reaches every webhook of its tenant at least once, signed, and the events of each resource arrive in order. A refused delivery delays only events of the same resource. No internal address is ever connected to, by address, by name or by redirect.',
  short: (run) => prove(run, { tenants: 2, workers: 2, kills: 2, freezes: 1, events: 500 }),
  long: (run) => prove(run, { tenants: 6, workers: 3, kills: 40, freezes: 20, events: 30_000 }),
});

async function prove(run: ProofRun, size: Size): Promise<ProofReport> {
  await ensureUp(['postgres', 'valkey', 'nats', 'restate']);
  await using database = await createTestDatabase({ poolSize: 8 });
  const folder = mkdtempSync(path.join(tmpdir(), 'millrace-webhooks-'));
  try {
    return await proveIn(run, size, database, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function proveIn(
  run: ProofRun,
  size: Size,
  database: TestDatabase,
  folder: string,
): Promise<ProofReport> {
  const { db } = database;
  const random = createRandom(run.seed);
  const certificate = await makeCertificate('receiver', {
    addresses: [ALLOWED_ADDRESS, INTERNAL_ADDRESS],
    dnsNames: ['localhost'],
  });
  const trusted = path.join(folder, 'trusted.pem');
  writeFileSync(trusted, certificate.certificate);
  await using outside = await startWebhookReceiver({ host: ALLOWED_ADDRESS, certificate });
  await using inside = await startWebhookReceiver({ host: INTERNAL_ADDRESS, certificate });
  await using turning = await startWebhookReceiver({ host: ALLOWED_ADDRESS, certificate });
  turning.respond = (_delivery, response) => {
    response.writeHead(307, { location: `https://${INTERNAL_ADDRESS}:${inside.port}/` }).end();
    return undefined;
  };
  const delays = random.fork(1);
  const refused = new Set<string>();
  outside.respond = async ({ path: hook }) => {
    await systemClock.sleep(delays.int(0, 150));
    // Refuse the first delivery to each webhook; deliveries about other resources must continue.
    return refused.size < refused.add(hook).size ? 503 : 204;
  };

  const orgIds = await insertTenants(db, size.tenants);
  const proven: TestWebhook[] = [];
  for (const orgId of orgIds) {
    proven.push(await insertWebhook(db, orgId, `https://${ALLOWED_ADDRESS}:${outside.port}`));
    proven.push(await insertWebhook(db, orgId, `https://${ALLOWED_ADDRESS}:${outside.port}`));
    for (const host of [INTERNAL_ADDRESS, 'localhost'])
      await insertWebhook(db, orgId, `https://${host}:${inside.port}`);
    await insertWebhook(db, orgId, `https://${ALLOWED_ADDRESS}:${turning.port}`);
  }

  const over = new AbortController();
  const writing = writeEvents(db, random.fork(2), { orgIds, plenty: size.events, over: over.signal });
  const pool = await startWorkerPool(database, size.workers, trusted);
  const faults = await injectFault(pool, size, random.fork(3), run).finally(() => over.abort());
  const written = await writing;
  run.note(`${written} events written, waiting for their receivers`);
  let waitedMs = 0;
  try {
    waitedMs = await untilDelivered(database, written, proven);
  } finally {
    await pool.end();
  }

  const reports = await Promise.all(proven.map((webhook) => checkDeliveries(db, webhook, outside.received)));
  const failures = reports.flatMap((result) => result.failures);
  if (inside.connections() > 0)
    failures.push(`${inside.connections()} connections were made to internal addresses`);
  if (turning.received.length === 0) failures.push('the redirecting receiver got no request');
  const repeats = reports.reduce((sum, result) => sum + result.repeats, 0);
  return {
    figures: {
      'events written': written,
      'deliveries sent': outside.received.length,
      'of these, repeats after a kill, a freeze or a refusal': repeats,
      'workers killed with kill -9': faults.killed,
      'workers frozen past their lease': faults.frozen,
      'seconds after the last event until all were delivered': Math.round(waitedMs * 0.001),
      'connections to internal addresses': inside.connections(),
    },
    failures,
  };
}

interface WorkerPool {
  readonly workers: WorkerProcess[];
  start(): Promise<WorkerProcess>;
  end(): Promise<void>;
}

async function startWorkerPool(database: TestDatabase, count: number, trusted: string): Promise<WorkerPool> {
  const names = testNames();
  const start = (): Promise<WorkerProcess> =>
    startWorkerProcess({
      database,
      names,
      env: {
        MILLRACE_LOG_LEVEL: 'error',
        MILLRACE_RELAY_LEASE_MS: String(LEASE_MS),
        MILLRACE_WEBHOOK_LEASE_MS: String(LEASE_MS),
        MILLRACE_WEBHOOK_ALLOWED_NETWORKS: `${ALLOWED_ADDRESS}/32`,
        NODE_EXTRA_CA_CERTS: trusted,
      },
    });
  const workers = await Promise.all(Array.from({ length: count }, start));
  const end = async (): Promise<void> => {
    await Promise.all(workers.map((worker) => worker.crash()));
  };
  return { workers, start, end };
}

/** Injects one fault after another into random workers. A killed worker is replaced while the others continue. */
async function injectFault(
  { workers, start, end }: WorkerPool,
  size: Size,
  random: Random,
  run: ProofRun,
): Promise<{ readonly killed: number; readonly frozen: number }> {
  const kinds = [
    ...Array.from({ length: size.kills }, () => 'kill' as const),
    ...Array.from({ length: size.freezes }, () => 'freeze' as const),
  ];
  try {
    for (const kind of random.shuffle(kinds)) {
      await systemClock.sleep(random.int(100, 700));
      const victim = random.int(0, workers.length - 1);
      const worker = workers[victim];
      if (worker === undefined) throw new Error('The victim is not among the workers.');
      if (kind === 'kill') {
        await worker.crash();
        workers[victim] = await start();
      } else {
        worker.freeze();
        await systemClock.sleep(random.int(LEASE_MS, 2 * LEASE_MS));
        worker.thaw();
      }
      run.note(`injected fault: ${kind}`);
    }
  } catch (error) {
    await end();
    throw error;
  }
  return { killed: size.kills, frozen: size.freezes };
}

/** While a failed delivery waits for its retry, the remaining minutes count as progress. */
const STUCK_AFTER_MS = 120_000;
const RETRY_MINUTES_MOST = 10;

async function untilDelivered(
  { db }: TestDatabase,
  written: number,
  proven: readonly TestWebhook[],
): Promise<number> {
  const ids = proven.map(({ id }) => toUuid(id));
  let seen = 'nothing';
  const tookMs = await waitWhileProgress({ stuckAfterMs: STUCK_AFTER_MS }, async () => {
    const { stored } = await db.kysely
      .selectFrom('events')
      .select((of) => of.fn.countAll<bigint>().as('stored'))
      .where('org_id', 'in', [...new Set(proven.map(({ orgId }) => toUuid(orgId)))])
      .executeTakeFirstOrThrow();
    const { left, last } = await db.kysely
      .selectFrom('webhook_deliveries')
      .select((of) => [of.fn.countAll<bigint>().as('left'), of.fn.max('next_attempt_at').as('last')])
      .where('webhook_id', 'in', ids)
      .where('status', '=', 'pending')
      .executeTakeFirstOrThrow();
    const waitsMs = last === null ? 0 : last.getTime() - db.clock.nowMs();
    const waitsMinutes = Math.min(RETRY_MINUTES_MOST, Math.max(0, Math.ceil(waitsMs / 60_000)));
    seen = `${stored} of ${written} events are stored, ${left} deliveries are left, the last is due in ${waitsMinutes} minutes`;
    return Number(stored) === written && left === 0n ? null : seen;
  });
  if (tookMs === null) throw new Error(`Deliveries have stopped: ${seen}.`);
  return tookMs;
}
