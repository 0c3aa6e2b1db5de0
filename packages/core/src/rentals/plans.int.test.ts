import {
  createTenant,
  createTestDatabase,
  explainKept,
  plantFleet,
  plantRentals,
  recordStatements,
  type PlanNode,
  type PlantedRental,
  type SentStatement,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getCost, getRecord, listHistory, listRecords, type Asker } from './reading.service.ts';

/** Rentals of one organisation among those of a cell. */
const OWN = 10_000;
const OTHERS = 90_000;
const ORGANISATIONS = 90;
const PAGE = 100;

/** What the operator configures, a page of rows at most: reading it whole is the fastest way. */
const tiny = new Set(['providers']);

let database: TestDatabase;
let asker: Asker;
let own: readonly PlantedRental[];

beforeAll(async () => {
  database = await createTestDatabase({ statementTimeoutMs: 120_000 });
  const { db } = database;
  const fleet = await plantFleet(db, { nodes: 500 });
  for (let number = 0; number < ORGANISATIONS; number += 1) {
    const { orgId, ownerId } = await createTenant(db);
    await plantRentals(db, { ...fleet, orgId, userId: ownerId, live: OTHERS / ORGANISATIONS, brief: true });
  }
  const client = await database.connect();
  await client.query(`insert into users (id, name, email)
    select gen_random_uuid(), 'Somebody', 'somebody-' || number || '@example.com' from generate_series(1, 10000) as number`);
  const { orgId, ownerId } = await createTenant(db);
  asker = { orgId, mode: 'live' };
  own = await plantRentals(db, { ...fleet, orgId, userId: ownerId, live: OWN, ended: OWN });
  await client.query('vacuum analyze');
  await client.end();
}, 300_000);
afterAll(() => database.drop());

async function explain(
  work: () => Promise<unknown>,
): Promise<readonly { sent: SentStatement; nodes: readonly PlanNode[] }[]> {
  const statements = await recordStatements(work);
  expect(statements.length).toBeGreaterThan(0);
  const client = await database.connect();
  try {
    const explained = [];
    for (const sent of statements) explained.push({ sent, nodes: (await explainKept(client, sent)).nodes });
    return explained;
  } finally {
    await client.end();
  }
}

/** Sentences about statements whose cost grows with more than what they show. */
async function waste(work: () => Promise<unknown>): Promise<readonly string[]> {
  const explained = await explain(work);
  return explained.flatMap(({ sent, nodes }) =>
    nodes.flatMap((node) => {
      const relation = node['Relation Name'] ?? '';
      const passedOver = (node['Rows Removed by Filter'] ?? 0) * (node['Actual Loops'] ?? 1);
      if (tiny.has(relation)) return [];
      if (node['Node Type'] === 'Seq Scan') return [`reads all of ${relation}: ${sent.text}`];
      return passedOver > PAGE ? [`passes over ${passedOver} rows of ${relation}: ${sent.text}`] : [];
    }),
  );
}

const now = new Date();
const live = ['Pending', 'Running', 'Unknown', 'Failed', 'Terminating'] as const;
const oldest = () => own[OWN + PAGE]?.id ?? null;

describe('with 10 000 live rentals of one organisation among 100 000, one plan for all values', () => {
  it.each([
    [
      'the first page of the list',
      () =>
        listRecords(
          database.db,
          asker,
          { kind: 'virtual-machine', statuses: live, after: null, limit: PAGE },
          now,
        ),
    ],
    [
      'its last page',
      () =>
        listRecords(
          database.db,
          asker,
          { kind: 'virtual-machine', statuses: live, after: oldest(), limit: PAGE },
          now,
        ),
    ],
    [
      'the rare ones of a status',
      () =>
        listRecords(
          database.db,
          asker,
          { kind: 'virtual-machine', statuses: ['Failed'], after: null, limit: PAGE },
          now,
        ),
    ],
    [
      'a kind that there is none of',
      () =>
        listRecords(
          database.db,
          asker,
          { kind: 'bare-metal', statuses: live, after: null, limit: PAGE },
          now,
        ),
    ],
    ['one rental', () => getRecord(database.db, asker, own[OWN + 1]?.wireId ?? 0, now)],
    [
      'history',
      () =>
        listHistory(
          database.db,
          asker,
          { kinds: ['virtual-machine', 'bare-metal'], from: null, until: null, after: null, limit: PAGE },
          now,
        ),
    ],
    [
      'history of a kind and a time',
      () =>
        listHistory(
          database.db,
          asker,
          { kinds: ['bare-metal'], from: new Date(0), until: now, after: null, limit: PAGE },
          now,
        ),
    ],
    ['what a rental has cost', () => getCost(database.db, asker, own[OWN + 1]?.wireId ?? 0, now)],
  ])('%s reads by index, and only what it shows', async (_, work) => {
    expect(await waste(work)).toEqual([]);
  });
});
