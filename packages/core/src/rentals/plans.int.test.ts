import { systemClock } from '@millrace/platform/clock';
import {
  createTenant,
  createTestDatabase,
  explainKept,
  plantFleet,
  plantRentals,
  recordStatements,
  testLog,
  type PlantedRental,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFeed, eventChannels, type Feed } from '../events/index.ts';
import { issueFullKey, systemCause, type KeyCall } from '../identity/index.ts';
import { getCost, getRecord, listHistory, listRecords, type Asker } from './reading.service.ts';
import type { RentalState } from './rental.ts';
import { updateRental } from './update.service.ts';

/** Rentals of one organisation among those of a cell. */
const OWN = 10_000;
const OTHERS = 90_000;
const ORGANISATIONS = 90;
const PAGE = 100;

/** What grows with a cell. The rest is what operators configure, and what one organisation has few of. */
const grown = new Set([
  'rentals',
  'rental_machines',
  'rental_terms',
  'rental_steps',
  'rental_transitions',
  'meters',
  'ledger_transfers',
  'ledger_holds',
  'events',
  'nodes',
  'users',
]);

let database: TestDatabase;
let asker: Asker;
let call: KeyCall;
let feed: Feed;
let own: readonly PlantedRental[];

beforeAll(async () => {
  database = await createTestDatabase({ statementTimeoutMs: 120_000 });
  const { db } = database;
  const fleet = await plantFleet(db, { nodes: 500 });
  for (let number = 0; number < ORGANISATIONS; number += 1) {
    const { orgId, ownerId } = await createTenant(db);
    await plantRentals(db, {
      ...fleet,
      orgId,
      userId: ownerId,
      live: OTHERS / ORGANISATIONS,
      brief: true,
    });
  }
  const { orgId, ownerId: userId } = await createTenant(db);
  asker = { orgId, mode: 'live' };
  own = await plantRentals(db, { ...fleet, orgId, userId, live: OWN, ended: OWN });
  const user = { id: userId, name: 'Ada Tester', email: 'ada@example.com', image: null };
  const { key } = await db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
    issueFullKey(tx, systemCause('test', 'live'), { orgId, user, mode: 'live', name: 'live' }),
  );
  call = { orgId, keyId: key.id, cause: systemCause('test', 'live') };
  feed = createFeed({
    db,
    clock: systemClock,
    log: testLog('plans'),
    channels: eventChannels('plans'),
    // Events come from PostgreSQL here.
    nats: {
      connected: () => false,
      subscribe: () => ({ close: async () => undefined, closed: new Promise(() => undefined) }),
    },
  });
  const client = await database.connect();
  await client.query(`insert into users (id, name, email)
    select gen_random_uuid(), 'Somebody', 'somebody-' || number || '@example.com' from generate_series(1, 10000) as number`);
  await client.query('vacuum analyze');
  await client.end();
}, 300_000);
afterAll(async () => {
  await feed.close();
  await database.drop();
});

/** Sentences about statements whose cost grows with more than what they show. */
async function waste(work: () => Promise<unknown>): Promise<readonly string[]> {
  const statements = await recordStatements(work);
  expect(statements.length).toBeGreaterThan(0);
  const found: string[] = [];
  const client = await database.connect();
  try {
    for (const sent of statements) {
      for (const node of await explainKept(client, sent)) {
        const relation = node['Relation Name'] ?? '';
        if (!grown.has(relation)) continue;
        const passedOver = (node['Rows Removed by Filter'] ?? 0) * (node['Actual Loops'] ?? 1);
        if (node['Node Type'] === 'Seq Scan') found.push(`reads all of ${relation}: ${sent.text}`);
        if (passedOver > PAGE) found.push(`passes over ${passedOver} rows of ${relation}: ${sent.text}`);
      }
    }
  } finally {
    await client.end();
  }
  return found;
}

const now = new Date();
const live: readonly RentalState[] = ['Pending', 'Running', 'Unknown', 'Failed', 'Terminating'];
const bothTypes = ['virtual-machine', 'bare-metal'] as const;
/** One that runs, in the middle of the list. */
const some = (): PlantedRental => {
  const rental = own[OWN + 50];
  if (rental === undefined) throw new Error('Rentals were planted.');
  return rental;
};
const list = (fields: Partial<Parameters<typeof listRecords>[2]>) =>
  listRecords(
    database.db,
    asker,
    { kind: 'virtual-machine', statuses: live, after: null, limit: PAGE, ...fields },
    now,
  );
const history = (fields: Partial<Parameters<typeof listHistory>[2]>) =>
  listHistory(
    database.db,
    asker,
    { kinds: bothTypes, from: null, until: null, after: null, limit: PAGE, ...fields },
    now,
  );

async function follow(): Promise<void> {
  const leaving = new AbortController();
  const about = [
    { kind: 'rental', id: String(some().wireId) },
    { kind: 'api-key', id: call.keyId },
  ];
  const query = { after: 0, mode: 'live', about, signal: leaving.signal } as const;
  const events = await feed.follow(asker.orgId, query);
  await events.next();
  leaving.abort();
}

describe('with 10 000 live rentals of one organisation among 100 000, and one plan for all values', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['the first page', () => list({})],
    ['the last page', () => list({ after: some().id })],
    ['the rare ones of a status', () => list({ statuses: ['Failed'] })],
    ['a type that there is none of', () => list({ kind: 'bare-metal' })],
    ['one rental', () => getRecord(database.db, asker, some().wireId, now)],
    ['one that is somebody else’s', () => getRecord(database.db, asker, 2_000_000_000, now)],
    ['history', () => history({})],
    ['history of a type and a time', () => history({ kinds: ['bare-metal'], from: new Date(0), until: now })],
    ['what a rental has cost', () => getCost(database.db, asker, some().wireId, now)],
    [
      'what happened to a rental',
      () =>
        feed.pageAbout(asker.orgId, {
          after: 0,
          limit: PAGE,
          about: [{ kind: 'rental', id: String(some().wireId) }],
        }),
    ],
    ['a stream of that', follow],
    [
      'a change',
      () =>
        database.db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
          updateRental(tx, call, some().wireId, { name: 'renamed', ttlSeconds: 3_600, maxUsd: 1_000 }),
        ),
    ],
  ])('%s reads by index, and only what it shows', async (_, work) => {
    expect(await waste(work)).toEqual([]);
  });
});
