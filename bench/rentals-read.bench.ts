import { seedOrganisation, type SeededOrganisation } from '@millrace/core/fixture';
import {
  atMost,
  defineBench,
  type BenchReport,
  type BenchRun,
  type CountRun,
  type Measure,
} from '@millrace/runners';
import { systemClock } from '@millrace/platform/clock';
import { parseId, toUuid, type UserId } from '@millrace/platform/ids';
import { ensureUp } from '@millrace/services';
import {
  createTenant,
  createTestDatabase,
  insertFleet,
  insertRentals,
  startApiProcess,
  testNames,
  type InsertedRental,
  type TestDatabase,
} from '@millrace/testing';
import { createRandom } from '@millrace/testing/random';
import { Pool } from 'pg';
import { startApiFixture } from '../apps/api/src/api.fixture.ts';
import { minStatementCount } from './api/statements.ts';

/** Live rentals of one organisation, and of the others. */
const OWN = 10_000;
const OTHERS = 90_000;
const ORGANISATIONS = 90;
const QUICK_PART = 10;
const PAGE = 100;
const CONCURRENCY = 8;
/** A page must need as many statements as one rental, whatever its length. */
const STATEMENTS = 7;

const list = '/v2/on-demand/virtual-machine-rentals';
const random = createRandom(1);

interface ReadSetup {
  readonly database: TestDatabase;
  readonly reader: SeededOrganisation;
  readonly rentals: readonly InsertedRental[];
}

async function setUp(run: BenchRun, database: TestDatabase): Promise<ReadSetup> {
  const { db } = database;
  const part = run.quick ? QUICK_PART : 1;
  const startedMs = systemClock.monotonicMs();
  const fleet = await insertFleet(db, { nodes: 500 });
  for (let made = 0; made < ORGANISATIONS / part; made += 1) {
    const { orgId, ownerId: userId } = await createTenant(db);
    await insertRentals(db, { ...fleet, orgId, userId, live: OTHERS / ORGANISATIONS, brief: true });
  }
  const reader = await seedOrganisation(db);
  const { id: orgId } = reader.organisation;
  const userId = ownerOf(reader);
  const rentals = await insertRentals(db, { ...fleet, orgId, userId, live: OWN / part, ended: OWN / part });
  const client = await database.connect();
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
  run.note(`${rentals.length} rentals inserted in ${Math.round(systemClock.monotonicMs() - startedMs)} ms`);
  return { database, reader, rentals: rentals.slice(rentals.length / 2) };
}

function ownerOf({ owner }: Pick<SeededOrganisation, 'owner'>): UserId {
  const id = parseId('usr', owner.userId);
  if (id === null) throw new Error(`${owner.userId} is not a user id.`);
  return id;
}

/** Statements of a request with a cached key. */
async function countStatements(): Promise<Record<string, number>> {
  await using fixture = await startApiFixture();
  const fleet = await insertFleet(fixture.db, { nodes: 1 });
  const { organisation, owner } = await seedOrganisation(fixture.db);
  const inserted = await insertRentals(fixture.db, {
    ...fleet,
    orgId: organisation.id,
    userId: ownerOf({ owner }),
    live: 2 * PAGE,
  });
  const { key } = owner;
  const count = (path: string): Promise<number> =>
    minStatementCount(() => fixture.call({ method: 'GET', path, key }));
  return {
    'list, page of 100': await count(`${list}?limit=${PAGE}`),
    'list, page of 1': await count(`${list}?limit=1`),
    'one rental': await count(`/v2/on-demand/rentals/${inserted.at(-1)?.wireId}`),
  };
}

/** The rows of the rentals alone, read with the bare driver. */
const baselinePage = {
  name: 'bare-page',
  text: `select * from rentals where org_id = $1 and mode = 'live' and kind = 'virtual-machine' and status = 'Running'
            and status <> 'Terminated' order by id desc limit $2`,
};
const baselineOne = { name: 'bare-one', text: 'select * from rentals where wire_id = $1' };

async function get(url: string, key: string): Promise<{ readonly nextCursor?: string | null }> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  const text = await response.text();
  if (response.status !== 200) throw new Error(`${url} returned ${response.status}: ${text.slice(0, 300)}`);
  return JSON.parse(text) as { readonly nextCursor?: string | null };
}

/** Reads all pages of the list in sequence. */
async function walk(url: string, key: string): Promise<void> {
  for (let cursor: string | null = ''; cursor !== null;) {
    const from: string = cursor === '' ? '' : `&cursor=${cursor}`;
    cursor = (await get(`${url}${list}?limit=${PAGE}${from}`, key)).nextCursor ?? null;
  }
}

async function counts({ note }: CountRun): Promise<BenchReport> {
  await ensureUp(['postgres', 'valkey', 'nats']);
  const statements = await countStatements();
  for (const [what, count] of Object.entries(statements)) note(`${what}: ${count} statements`);
  return {
    figures: prefixed('statements: ', statements),
    bars: Object.entries(statements).map(([what, count]) => atMost(`statements: ${what}`, STATEMENTS, count)),
  };
}

export const bench = defineBench({
  name: 'rentals-read',
  about:
    'Listing and reading the rentals of an organisation that has 10 000 of 100 000, through an api process, compared with the bare query.',
  counts,
  async run(run) {
    const counted = await counts(run);
    await using database = await createTestDatabase({ isSynced: true, statementTimeoutMs: 300_000 });
    const { reader, rentals } = await setUp(run, database);
    const env = {
      MILLRACE_LOG_LEVEL: 'info',
      MILLRACE_HTTP_VALIDATE_RESPONSES: 'false',
      MILLRACE_RATE_LIMIT_DEFAULT_RPM: '1000000',
      MILLRACE_RATE_LIMIT_FUNDED_RPM: '1000000',
    };
    await using api = await startApiProcess({ database, names: testNames(), env });
    run.pinServer(api.pid);
    const pool = new Pool({ connectionString: database.url, max: CONCURRENCY });
    pool.on('error', () => undefined);
    const org = toUuid(reader.organisation.id);
    const { key } = reader.owner;
    const sides = {
      'bare select of 100': () => pool.query({ ...baselinePage, values: [org, PAGE] }),
      'list, page of 100': () => get(`${api.url}${list}?limit=${PAGE}`, key),
      'bare select of one': () => pool.query({ ...baselineOne, values: [random.pick(rentals).wireId] }),
      'one rental': () => get(`${api.url}/v2/on-demand/rentals/${random.pick(rentals).wireId}`, key),
    };
    try {
      const alone = await run.measure(sides, { concurrency: 1 });
      const crowd = await run.measure(sides, { concurrency: CONCURRENCY });
      const { all } = await run.measure({ all: () => walk(api.url, key) }, { concurrency: 1, rounds: 5 });
      return {
        figures: {
          ...prefixed('1 client: ', alone),
          ...prefixed(`${CONCURRENCY} clients: `, crowd),
          [`all ${rentals.length} by pages of ${PAGE}`]: all,
          ...counted.figures,
        },
        bars: counted.bars,
      };
    } finally {
      await pool.end();
    }
  },
});

function prefixed<Value extends Measure | number>(
  prefix: string,
  values: Readonly<Record<string, Value>>,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value]));
}
