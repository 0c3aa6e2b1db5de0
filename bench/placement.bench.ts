import { place, releaseAllocation, type Placement, type PlacementRequest } from '@millrace/core/fleet';
import {
  atMost,
  defineBench,
  type BenchAssertion,
  type BenchReport,
  type BenchRun,
  type Measure,
} from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { postgresConfig } from '@millrace/platform/config';
import { createDb, type Db } from '@millrace/platform/db';
import { isFault } from '@millrace/platform/fault';
import type { OrgId } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import { ensureUp } from '@millrace/services';
import {
  createOrganisation,
  createTestDatabase,
  longDbTimeouts,
  insertFleet,
  testIds,
  type TestDatabase,
} from '@millrace/testing';
import { createRandom } from '@millrace/testing/random';
import { Pool } from 'pg';
import { recordStatements } from './api/statements.ts';

const CLIENTS = 32;
/** Default pool size of a process. Callers queue for a connection. */
const POOL_SIZE = postgresConfig.variables.poolSize.schema.parse(undefined);
const STATEMENT_TIMEOUT_MS = 300_000;
const NODES_IN_CLUSTER = 1_000;
const FABRIC_SIZE = 32;
const ORGANISATIONS = 100;
/** The asserted size, and others that show how the cost grows. */
const ASSERTED_NODES = 10_000;
const SIZES = [1_000, ASSERTED_NODES, 100_000];
const QUICK_SIZES = [1_000];
/** For the time from call to commit with the wait for a connection, relative to the faster of the two bare inserts. */
const MAX_TIMES_BASELINE = 5;
/** A gang also locks its nodes and checks that they share a fabric. */
const PLACE_STATEMENTS = 4;
const GANG_STATEMENTS = 7;

const random = createRandom(1);

/** A fleet that is 70 % sold, each machine with a port: most nodes fully, some partly, as best fit leaves them. */
const sellMostGpus = `
  with numbered as (
    select node_id, row_number() over (order by node_id) % 20 as place from node_capacity),
  chosen as (
    select node_id, gen_random_uuid() as allocation_id, case when place < 13 then 8 else 4 end as gpus
      from numbered where place < 15),
  made as (
    insert into allocations (id, org_id, mode, external_id, holder, region, gpu_count, node_count, state, created_at)
    select allocation_id, $1, 'live', gen_random_uuid(), 'rental', $2, gpus, 1, 'live', now() from chosen),
  opened as (
    insert into allocated_ports (allocation_id, node_id, org_id, mode, protocol, external_port, internal_port)
    select allocation_id, node_id, $1, 'live', 'tcp', 20000, 22 from chosen)
  insert into allocated_gpus (allocation_id, gpu_id, node_id, org_id, mode)
  select chosen.allocation_id, gpu.id, chosen.node_id, $1, 'live'
    from chosen
    join lateral (select id from gpus where gpus.node_id = chosen.node_id order by pci_address limit chosen.gpus) as gpu on true`;

const REGION = 'bench-1';
const baselineTable = `
  create table bare_rows (id uuid primary key, org_id uuid not null, node_id uuid not null, created_at timestamptz not null);
  create index on bare_rows (node_id)`;

interface FleetConnections {
  readonly db: Db;
  readonly pool: Pool;
  readonly orgIds: readonly OrgId[];
  /** Durations of placements, including the wait for a connection. */
  readonly placeMs: number[];
}

function openFleetConnections(
  database: TestDatabase,
  orgIds: readonly OrgId[],
  connections: number,
): FleetConnections {
  const pool = new Pool({ connectionString: database.url, max: connections });
  pool.on('error', () => undefined);
  const db = createDb({
    ...longDbTimeouts,
    url: database.url,
    poolSize: connections,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    ids: testIds,
    log: createLogger({ name: 'bench', level: 'error' }),
  });
  return { db, pool, orgIds, placeMs: [] };
}

async function closeFleetConnections({ db, pool }: FleetConnections): Promise<void> {
  await db.close();
  await pool.end();
}

/** Sold allocations, oldest first, and how many are kept. */
interface SoldAllocations {
  readonly most: number;
  readonly live: { readonly orgId: OrgId; readonly placement: Placement }[];
}

function placementRequest(stage: FleetConnections, fields: Partial<PlacementRequest>): PlacementRequest {
  return {
    orgId: random.pick(stage.orgIds),
    externalId: testIds.nextUuid(),
    holder: 'rental',
    mode: 'live',
    offer: 'virtual-machine',
    region: REGION,
    gpuType: 'h100',
    connectionType: 'ethernet',
    cuda: null,
    gpusPerNode: 1,
    nodeCount: 1,
    except: [],
    only: null,
    ports: [{ internalPort: 22, protocol: 'tcp' }],
    freesAt: null,
    ...fields,
  };
}

async function setUp(database: TestDatabase, nodes: number): Promise<void> {
  for (let inserted = 0; inserted < nodes; inserted += NODES_IN_CLUSTER) {
    await insertFleet(database.db, {
      nodes: Math.min(NODES_IN_CLUSTER, nodes - inserted),
      region: REGION,
      fabricSize: FABRIC_SIZE,
      // No worker observes the fleet, and a run may take longer than an observation is valid.
      watchedAt: new Date(systemClock.nowMs() + 3_600_000),
    });
  }
  const client = await database.connect();
  const [org] = await client
    .query<{ id: string }>('select id from organisations limit 1')
    .then(({ rows }) => rows);
  if (org === undefined) throw new Error('The fleet has no organisation.');
  await client.query(sellMostGpus, [org.id, REGION]);
  await client.query(baselineTable);
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
}

const committed = { name: 'place', isolation: 'read committed' } as const;

/** Places a machine, and releases the oldest once enough are sold. Only the placement is timed. */
async function placeAndRelease(
  stage: FleetConnections,
  sold: SoldAllocations,
  fields: Partial<PlacementRequest>,
): Promise<void> {
  const { db, placeMs } = stage;
  const { live, most } = sold;
  const request = placementRequest(stage, fields);
  const startedMs = systemClock.monotonicMs();
  const placement = await db.transaction(committed, (tx) => place(tx, request));
  placeMs.push(systemClock.monotonicMs() - startedMs);
  live.push({ orgId: request.orgId, placement });
  const oldest = live.length > most ? live.shift() : undefined;
  if (oldest === undefined) return;
  await db.transaction({ ...committed, name: 'release' }, (tx) =>
    releaseAllocation(tx, oldest.orgId, oldest.placement.allocationId),
  );
}

async function placeExpectingError(
  stage: FleetConnections,
  fields: Partial<PlacementRequest>,
): Promise<void> {
  const outcome = await stage.db
    .transaction(committed, (tx) => place(tx, placementRequest(stage, fields)))
    .then(
      () => 'placed',
      (error: unknown) => (isFault(error) ? error.reason : String(error)),
    );
  if (outcome !== 'INSUFFICIENT_CAPACITY')
    throw new Error(`Expected INSUFFICIENT_CAPACITY and got ${outcome}.`);
}

async function insertBaseline({ pool }: FleetConnections): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query({
      name: 'bare-insert',
      text: 'insert into bare_rows (id, org_id, node_id, created_at) values ($1, $2, $3, now())',
      values: [testIds.nextUuid(), testIds.nextUuid(), testIds.nextUuid()],
    });
    await client.query('commit');
  } finally {
    client.release();
  }
}

const sizes = [1, 1, 1, 2, 2, 4, 8] as const;

interface Figures {
  readonly figures: Readonly<Record<string, Measure | number>>;
  /** With the pool of the product. */
  readonly placeP99Ms: number;
  /** The faster of the two. */
  readonly bareP99Ms: number;
}

const quantile = (values: readonly number[], part: number): number => {
  const sorted = values.toSorted((one, other) => one - other);
  return Number((sorted[Math.floor(sorted.length * part)] ?? 0).toFixed(2));
};

/** Measures both variants with both pools in turn, so that disturbances of the machine affect all of them. */
async function measureConcurrent(
  run: BenchRun,
  wide: FleetConnections,
  pooled: FleetConnections,
  sold: SoldAllocations,
): Promise<Figures> {
  const placing = (stage: FleetConnections) => () =>
    placeAndRelease(stage, sold, { gpusPerNode: random.pick(sizes) });
  const sides = {
    [`bare insert, ${CLIENTS} connections`]: () => insertBaseline(wide),
    [`place, then release, ${CLIENTS} connections`]: placing(wide),
    [`bare insert, pool of ${POOL_SIZE}`]: () => insertBaseline(pooled),
    [`place, then release, pool of ${POOL_SIZE}`]: placing(pooled),
  };
  await run.measure(sides, { concurrency: CLIENTS, rounds: 1 });
  for (const { placeMs } of [wide, pooled]) placeMs.length = 0;
  const measures = await run.measure(sides, { concurrency: CLIENTS });
  const bare = Object.entries(measures).filter(([name]) => name.startsWith('bare insert'));
  return {
    figures: {
      ...measures,
      [`place p50 ms, ${CLIENTS} connections`]: quantile(wide.placeMs, 0.5),
      [`place p99 ms, ${CLIENTS} connections`]: quantile(wide.placeMs, 0.99),
      [`place p50 ms, pool of ${POOL_SIZE}`]: quantile(pooled.placeMs, 0.5),
      [`place p99 ms, pool of ${POOL_SIZE}`]: quantile(pooled.placeMs, 0.99),
    },
    placeP99Ms: quantile(pooled.placeMs, 0.99),
    bareP99Ms: Math.min(...bare.map(([, { p99Ms }]) => p99Ms)),
  };
}

async function measureSize(run: BenchRun, nodes: number): Promise<Figures> {
  await using database = await createTestDatabase({
    isSynced: true,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  const orgIds: OrgId[] = [];
  for (let made = 0; made < ORGANISATIONS; made += 1) orgIds.push(await createOrganisation(database.db));
  const startedMs = systemClock.monotonicMs();
  await setUp(database, nodes);
  run.note(`${nodes} nodes inserted in ${Math.round(systemClock.monotonicMs() - startedMs)} ms`);

  const wide = openFleetConnections(database, orgIds, CLIENTS);
  const pooled = openFleetConnections(database, orgIds, POOL_SIZE);
  const machines: SoldAllocations = { most: 4 * CLIENTS, live: [] };
  const gangs: SoldAllocations = { most: 8, live: [] };
  try {
    const crowd = await measureConcurrent(run, wide, pooled, machines);
    const others = await run.measure(
      {
        'bare insert, one client': () => insertBaseline(pooled),
        'place, then release, one client': () =>
          placeAndRelease(pooled, machines, { gpusPerNode: random.pick(sizes) }),
        'gang of 4, then release': () =>
          placeAndRelease(pooled, gangs, { gpusPerNode: 8, nodeCount: 4, ports: [] }),
        'refused: nothing of this kind': () => placeExpectingError(pooled, { gpuType: 'b200' }),
        'refused: too many GPUs': () => placeExpectingError(pooled, { gpusPerNode: 9 }),
        'refused: CUDA too old': () => placeExpectingError(pooled, { cuda: 1_300 }),
        'refused gang, every fabric looked at': () =>
          placeExpectingError(pooled, { gpusPerNode: 8, nodeCount: FABRIC_SIZE + 1, ports: [] }),
      },
      { concurrency: 1, rounds: 2 },
    );
    return { ...crowd, figures: { ...crowd.figures, ...others } };
  } finally {
    await closeFleetConnections(wide);
    await closeFleetConnections(pooled);
  }
}

/** Statements of a placement, which must not grow with the fleet. */
async function counts(): Promise<BenchReport> {
  await ensureUp(['postgres']);
  const bars: BenchAssertion[] = [];
  for (const nodes of [50, 500]) {
    await using database = await createTestDatabase();
    const orgIds = [await createOrganisation(database.db)];
    await setUp(database, nodes);
    const stage = openFleetConnections(database, orgIds, 1);
    const count = async (fields: Partial<PlacementRequest>): Promise<number> =>
      (await recordStatements(() => placeAndRelease(stage, { most: 100, live: [] }, fields))).length;
    try {
      const gang = { gpusPerNode: 8, nodeCount: 4, ports: [] };
      bars.push(
        atMost(`${nodes} nodes: statements of a placement`, PLACE_STATEMENTS, await count({})),
        atMost(`${nodes} nodes: statements of a gang of 4`, GANG_STATEMENTS, await count(gang)),
      );
    } finally {
      await closeFleetConnections(stage);
    }
  }
  return { figures: Object.fromEntries(bars.map(({ name, value }) => [name, value])), bars };
}

export const bench = defineBench({
  name: 'placement',
  about:
    'Placements on a fleet that is 70 % sold, from 32 clients, compared with a bare indexed insert, and how the cost grows with the fleet.',
  counts,
  async run(run) {
    await ensureUp(['postgres']);
    const figures: Record<string, Measure | number> = {};
    const bars = [];
    for (const nodes of run.quick ? QUICK_SIZES : SIZES) {
      const measured = await measureSize(run, nodes);
      const name = (what: string): string => `${nodes} nodes: ${what}`;
      for (const [side, measure] of Object.entries(measured.figures)) figures[name(side)] = measure;
      const times = Number((measured.placeP99Ms / measured.bareP99Ms).toFixed(2));
      if (nodes === ASSERTED_NODES || run.quick)
        bars.push(
          atMost(name(`place p99, pool of ${POOL_SIZE}, times a bare insert`), MAX_TIMES_BASELINE, times),
        );
    }
    return { figures, bars };
  },
});
