import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  atLeast,
  atMost,
  defineBench,
  residentMib,
  type BenchReport,
  type BenchRun,
  type Measure,
} from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { ensureUp } from '@millrace/services';
import {
  createTestDatabase,
  freePort,
  startApiProcess,
  startProcess,
  testNames,
  type TestDatabase,
} from '@millrace/testing';
import { createRandom } from '@millrace/testing/random';
import { createListingCaller, type Caller } from './listing/caller.ts';
import { insertMarket, regions, type InsertedMarket } from './listing/insert-market.ts';
import { measureSales } from './listing/sales.ts';

const MACHINES = 100_000;
const QUICK_MACHINES = 10_000;
const SUPPLIERS = 100;
const CLIENTS = 4;
const UPDATES = 10;
const UPDATED_SHARE = 0.01;
/** Measured: 0.06. */
const UPDATE_SHARE_OF_FILLING = 0.15;

const random = createRandom(3);

async function setUp(run: BenchRun, database: TestDatabase): Promise<InsertedMarket> {
  const startedMs = systemClock.monotonicMs();
  const machines = run.quick ? QUICK_MACHINES : MACHINES;
  const market = await insertMarket(database, { machines, suppliers: SUPPLIERS });
  const client = await database.connect();
  await client.query('truncate listing_changes');
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
  run.note(`${machines} machines inserted in ${Math.round(systemClock.monotonicMs() - startedMs)} ms`);
  return market;
}

/** Waits until the list is complete and returns the milliseconds. */
async function waitUntilListed(caller: Caller): Promise<number> {
  const startedMs = systemClock.monotonicMs();
  for (;;) {
    const there = await caller.call({}).then(
      () => true,
      () => false,
    );
    if (there) return Math.round(systemClock.monotonicMs() - startedMs);
    await systemClock.sleep(50);
  }
}

/** Typical queries of a marketplace, different each time. */
function queryMix(market: InsertedMarket): Readonly<Record<string, () => unknown>> {
  const models = ['H100', 'H200', 'B200', 'A100', 'L40S', 'RTX 4090'];
  const price = { field: 'pricing.price.amount', dir: 'asc' };
  return {
    'four filters, by price, 100': () => ({
      filters: {
        gpu_model: random.pick(models),
        min_gpus_available: random.int(1, 4),
        max_price: random.int(1, 50) * 0.1,
        region: random.pick(regions),
      },
      sort: [price],
      limit: 100,
    }),
    'all that are free, by price, 100': () => ({ filters: { available: true }, sort: [price], limit: 100 }),
    'three sorts, 1000': () => ({
      filters: { 'hardware.gpus.ram': { gte: random.int(40, 100) * 1_000 } },
      sort: [{ field: 'location.region' }, price, { field: 'network.bandwidth_mbps_down', dir: 'desc' }],
      limit: 1_000,
    }),
    'all of a supplier': () => ({ filters: { supplier_id: random.pick(market.supplierIds) } }),
    'one machine': () => ({ filters: { id: random.pick(market.nodeIds) } }),
    'not these, 100': () => ({
      filters: { cluster_name: { notin: ['cluster-abc', 'cluster-def'] }, gpus_total: { in: [4, 8] } },
      limit: 100,
    }),
  };
}

/** Time from the commit that changes one machine in a hundred until the whole list shows all changes. */
async function measureUpdate(
  database: TestDatabase,
  market: InsertedMarket,
  caller: Caller,
): Promise<number> {
  const before = await caller.call({});
  const nodes = random.shuffle(market.nodeIds).slice(0, market.nodeIds.length * UPDATED_SHARE);
  const price = random.int(5_001, 9_999);
  const client = await database.connect();
  await client.query(
    'update supplier_machines set price_nano_usd_per_gpu_hour = $1 where node_id = any ($2::uuid[])',
    [price * 1_000_000, nodes.map(toUuid)],
  );
  const committedMs = systemClock.monotonicMs();
  await client.end();
  for (;;) {
    const response = await caller.read({}, { 'if-none-match': String(before.headers.etag) });
    if (response.status === 200) {
      const seenMs = systemClock.monotonicMs() - committedMs;
      const text = gunzipSync(response.body).toString('utf8');
      const shown = text.split(`"amount":${price / 1000},`).length - 1;
      if (shown !== nodes.length) throw new Error(`${shown} of ${nodes.length} changes are shown`);
      return seenMs;
    }
    await systemClock.sleep(5);
  }
}

const COUNTED_MACHINES = 1_000;
const BYTES_A_MACHINE = 1_300;
const PACKED_BYTES_A_MACHINE = 160;

/** Bytes of the whole list per machine, plain and compressed. */
async function counts(): Promise<BenchReport> {
  await ensureUp(['postgres', 'valkey', 'nats']);
  await using database = await createTestDatabase({ statementTimeoutMs: 300_000 });
  await insertMarket(database, { machines: COUNTED_MACHINES, suppliers: 10 });
  // A slow machine polls often until the list is complete, and the rate limit must not refuse it.
  const env = { MILLRACE_RATE_LIMIT_ANONYMOUS_RPM: '1000000' };
  await using api = await startApiProcess({ database, names: testNames(), env });
  const caller = createListingCaller(api.url, 1);
  try {
    await waitUntilListed(caller);
    const { body } = await caller.read({});
    const [plain, packed] = [gunzipSync(body).length / COUNTED_MACHINES, body.length / COUNTED_MACHINES];
    return {
      figures: { 'bytes a machine': Math.round(plain), 'bytes a machine, compressed': Math.round(packed) },
      bars: [
        atMost('bytes a machine', BYTES_A_MACHINE, Math.round(plain)),
        atMost('bytes a machine, compressed', PACKED_BYTES_A_MACHINE, Math.round(packed)),
      ],
    };
  } finally {
    caller.close();
  }
}

const env = {
  MILLRACE_LOG_LEVEL: 'info',
  MILLRACE_HTTP_VALIDATE_RESPONSES: 'false',
  MILLRACE_RATE_LIMIT_ANONYMOUS_RPM: '1000000',
};

export const bench = defineBench({
  name: 'listing',
  about:
    'The listing of 100 000 machines by an api process, compared with a bare node:http server that sends the same bytes.',
  counts,
  async run(run) {
    await ensureUp(['postgres', 'valkey', 'nats']);
    const sales = await measureSales(run);
    await using database = await createTestDatabase({ isSynced: true, statementTimeoutMs: 300_000 });
    const names = testNames();
    const emptyMib = await memoryOfEmpty(database);
    const market = await setUp(run, database);
    await using api = await startApiProcess({ database, names, env });
    const own = createListingCaller(api.url, CLIENTS);
    const filledMs = await waitUntilListed(own);
    const whole = await own.read({});
    const plain = gunzipSync(whole.body).length;
    const folder = await mkdtemp(join(tmpdir(), 'listing-'));
    const file = join(folder, 'list.gz');
    await writeFile(file, whole.body);
    const port = await freePort();
    await using bareServer = await startBareServer(port, file);
    const bare = createListingCaller(`http://127.0.0.1:${port}`, CLIENTS);
    run.pinServer(bareServer.pid);
    run.pinServer(api.pid);
    try {
      const etag = { 'if-none-match': String(whole.headers.etag) };
      const lists = await run.measure(
        { 'bare node:http': () => bare.call({}), 'the whole list': () => own.call({}) },
        { concurrency: CLIENTS },
      );
      const { unchanged } = await run.measure(
        { unchanged: () => own.call({}, etag) },
        { concurrency: CLIENTS },
      );
      const queries = Object.entries(queryMix(market)).map(
        ([name, question]) => [name, () => own.call(question())] as const,
      );
      const filtered = await run.measure(Object.fromEntries(queries), { concurrency: 1 });
      const crowd = await run.measure(Object.fromEntries(queries), { concurrency: CLIENTS });
      const { broad } = await run.measure(
        { broad: () => own.call({ filters: { 'location.region': regions[0] } }) },
        { concurrency: 1 },
      );
      const updatesMs: number[] = [];
      for (let round = 0; round < UPDATES; round += 1)
        updatesMs.push(await measureUpdate(database, market, own));
      const share = lists['the whole list'].perSecond / lists['bare node:http'].perSecond;
      const slowest = Math.max(...Object.values<Measure>(filtered).map(({ p99Ms }) => p99Ms));
      const slowestP50 = Math.max(...Object.values<Measure>(filtered).map(({ p50Ms }) => p50Ms));
      return {
        figures: {
          ...lists,
          'the whole list, unchanged (304)': unchanged,
          ...prefixed('1 client: ', filtered),
          ...prefixed(`${CLIENTS} clients: `, crowd),
          'an eighth of all, 1 client': broad,
          machines: market.nodeIds.length,
          'whole list, MiB': mib(plain),
          'whole list compressed, MiB': mib(whole.bytes),
          'filled after start, ms': filledMs,
          'update of 1 %, ms, median': Math.round(updatesMs.toSorted((a, b) => a - b)[UPDATES >> 1] ?? 0),
          'update of 1 %, ms, slowest': Math.round(Math.max(...updatesMs)),
          'memory of an api without machines, MiB': emptyMib,
          'memory of this api, MiB': Math.round(residentMib(api.pid)),
          ...sales.figures,
        },
        bars: [
          atLeast('whole list, in the rate of bare node:http', 0.5, Math.round(share * 100) / 100),
          atMost('filtered, slowest p99, times the slowest p50', 7, rounded(slowest / slowestP50)),
          atMost(
            'update of 1 % visible, slowest, in the time of filling the list',
            UPDATE_SHARE_OF_FILLING,
            rounded(Math.max(...updatesMs) / filledMs),
          ),
          ...sales.bars,
        ],
      };
    } finally {
      own.close();
      bare.close();
      await rm(folder, { recursive: true });
    }
  },
});

function startBareServer(port: number, file: string) {
  return startProcess({
    name: 'bare',
    entry: 'bench/listing/baseline-server.ts',
    args: [String(port), file],
    env: {},
    readyUrl: `http://127.0.0.1:${port}/`,
  });
}

async function memoryOfEmpty(database: TestDatabase): Promise<number> {
  await using api = await startApiProcess({ database, names: testNames(), env });
  const caller = createListingCaller(api.url, 1);
  await waitUntilListed(caller);
  caller.close();
  return Math.round(residentMib(api.pid));
}

function rounded(value: number): number {
  return Number(value.toFixed(2));
}

function mib(bytes: number): number {
  return Math.round((bytes / 1_048_576) * 10) / 10;
}

function prefixed(prefix: string, values: Readonly<Record<string, Measure>>): Record<string, Measure> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value]));
}
