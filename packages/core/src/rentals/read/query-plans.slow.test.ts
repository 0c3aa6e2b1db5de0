import type { ComputeDriver, MachineView } from '@millrace/compute';
import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { createSealer } from '@millrace/platform/secrets';
import {
  createTenant,
  createTestDatabase,
  eventually,
  explainGenericPlan,
  insertFleet,
  insertRentals,
  recordStatements,
  testIds,
  testLog,
  type InsertedFleet,
  type InsertedRental,
  type TestDatabase,
} from '@millrace/testing';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createFeed, eventChannels, type Feed } from '../../events/index.ts';
import {
  issueUnrestrictedKey,
  systemAuditContext,
  type CallContext,
  type TenantRef,
} from '../../identity/index.ts';
import { reconcileRental } from '../reconcile/reconcile-rental.ts';
import { defaultRentalPolicy } from '../model/policy.ts';
import {
  getRentalCost,
  getRentalRecord,
  listRentalHistory,
  listRentalRecords,
} from './rental-queries.service.ts';
import { enqueueDueRentals } from '../reconcile/recovery.ts';
import type { RentalState } from '../model/rental.ts';
import { InventoryReconciler } from '../inventory/inventory-reconciler.ts';
import { listOverdue as listLateForPeople } from '../inventory/comparisons.store.ts';
import { updateRental } from '../actions/update.service.ts';

/** Rentals of one organisation among those of a cell. */
const OWN = 10_000;
const OTHERS = 90_000;
const ORGANISATIONS = 90;
const PAGE = 100;
/** Rentals on one small cluster. */
const SMALL = 60;

/** What grows with a cell. The rest is what operators configure, and what one organisation has few of. */
const grown = new Set([
  'rentals',
  'rental_machines',
  'rental_terms',
  'rental_steps',
  'rental_transitions',
  'stray_machines',
  'meters',
  'ledger_transfers',
  'ledger_holds',
  'events',
  'nodes',
  'users',
]);

let database: TestDatabase;
let tenant: TenantRef;
let call: CallContext;
let feed: Feed;
let own: readonly InsertedRental[];
let small: InsertedFleet;
let smallOnes: readonly InsertedRental[];

beforeAll(async () => {
  database = await createTestDatabase({ statementTimeoutMs: 120_000 });
  const { db } = database;
  for (let number = 0; number < ORGANISATIONS; number += 1) {
    const { orgId, ownerId: userId } = await createTenant(db);
    const otherFleet = await insertFleet(db, { nodes: 50, gpusPerNode: 1 });
    await insertRentals(db, { ...otherFleet, orgId, userId, live: OTHERS / ORGANISATIONS, brief: true });
  }
  const { orgId, ownerId: userId } = await createTenant(db);
  small = await insertFleet(db, { nodes: 2 });
  const onSmall = await insertRentals(db, {
    ...small,
    orgId,
    userId,
    live: SMALL,
    ended: SMALL,
    brief: true,
  });
  smallOnes = onSmall.slice(SMALL);
  const fleet = await insertFleet(db, { nodes: 500, gpusPerNode: 1 });
  tenant = { orgId, mode: 'live' };
  own = await insertRentals(db, { ...fleet, orgId, userId, live: OWN, ended: OWN });
  const user = { id: userId, name: 'Ada Tester', email: 'ada@example.com', image: null };
  const { key } = await db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
    issueUnrestrictedKey(tx, systemAuditContext('test', 'live'), { orgId, user, mode: 'live', name: 'live' }),
  );
  call = { orgId, keyId: key.id, cause: systemAuditContext('test', 'live') };
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
  await insertOrphans(client);
  await client.query(`insert into users (id, name, email)
    select gen_random_uuid(), 'Somebody', 'somebody-' || number || '@example.com' from generate_series(1, 10000) as number`);
  await client.query('vacuum analyze');
  await client.end();
});
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
      for (const node of await explainGenericPlan(client, sent)) {
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
const some = (): InsertedRental => {
  const rental = own[OWN + 50];
  if (rental === undefined) throw new Error('Rentals were planted.');
  return rental;
};
const list = (fields: Partial<Parameters<typeof listRentalRecords>[2]>) =>
  listRentalRecords(
    database.db,
    tenant,
    { kinds: ['virtual-machine'], statuses: live, after: null, limit: PAGE, ...fields },
    now,
  );
const history = (fields: Partial<Parameters<typeof listRentalHistory>[2]>) =>
  listRentalHistory(
    database.db,
    tenant,
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
  const events = await feed.follow(tenant.orgId, query);
  await events.next();
  leaving.abort();
}

const silent = async (): Promise<ComputeDriver> => Promise.reject(new Error('It is silent.'));

async function lateOnes(): Promise<void> {
  const { db } = database;
  const log = testLog('plans');
  const reconciler = new InventoryReconciler({
    db,
    clock: systemClock,
    log,
    holder: 'plans',
    drivers: silent,
  });
  await listLateForPeople(db, now, PAGE);
  await reconciler.repairLate();
}

async function lookOnce(): Promise<void> {
  const deps = {
    db: database.db,
    clock: systemClock,
    log: testLog('plans'),
    drivers: silent,
    sealer: createSealer({ keys: [{ id: 'test', key: new Uint8Array(32).fill(7) }], activeId: 'test' }),
    policy: defaultRentalPolicy,
    unfundedSince: new Map(),
  };
  const { kind } = await reconcileRental(deps, tenant.orgId, some().id, new AbortController().signal);
  expect(kind).toBe('wait');
}

/**
 * An engine that has lost every tenth machine, calls every eighth of the rest off, and has three that nobody knows: two of
 * them were seen before, one of which is due to be removed and the other is gone.
 */
function brokenEngine(): ComputeDriver {
  const known = smallOnes.map(({ id }, index) =>
    machine(toUuid(id), { power: index % 8 === 0 ? 'off' : 'on', privateIps: ['10.0.0.7'] }),
  );
  const machines = [
    ...known.filter((_, index) => index % 10 !== 0),
    ...orphans.slice(0, 2).map((externalId) => machine(externalId, {})),
  ];
  const engine: Partial<ComputeDriver> = {
    listOwned: async () => ({ machines, unreachableNodes: [] }),
    describe: async ({ externalId }) => machines.find((other) => other.externalId === externalId) ?? null,
    cutAccess: async () => undefined,
    terminate: async () => undefined,
  };
  return engine as ComputeDriver;
}

const orphans = Array.from({ length: 3 }, () => testIds.nextUuid());

function machine(externalId: string, changes: Partial<MachineView>): MachineView {
  return {
    externalId,
    orgId: tenant.orgId,
    nodeName: 'node-1',
    power: 'on',
    detail: null,
    gpuPciAddresses: [],
    privateIps: [],
    address: '127.0.0.1',
    ports: [],
    sshUser: 'ubuntu',
    labels: {},
    createdAt: new Date(0),
    ...changes,
  };
}

/** Those of other clusters, and two of the small one that were seen long ago. */
async function insertOrphans(client: Client): Promise<void> {
  await client.query(
    `insert into stray_machines (cluster_id, org_id, external_id, mode, node_name, first_seen_at)
     select cluster.id, $1, gen_random_uuid(), 'live', 'node-1', now()
       from clusters as cluster, generate_series(1, 100) where cluster.id <> $2`,
    [toUuid(tenant.orgId), toUuid(small.clusterId)],
  );
  await client.query(
    `insert into stray_machines (cluster_id, org_id, external_id, mode, node_name, first_seen_at)
     select $1, $2, unnest($3::text[]), 'live', 'node-1', now() - interval '1 hour'`,
    [toUuid(small.clusterId), toUuid(tenant.orgId), orphans.slice(1)],
  );
  await client.query('update rental_machines set private_ip = null where cluster_id = $1', [
    toUuid(small.clusterId),
  ]);
}

/** A whole comparison of the small cluster, with repairs, and with strays that are new, due and gone. */
async function compare(): Promise<void> {
  const engine = brokenEngine();
  const { db } = database;
  const reconciler = new InventoryReconciler({
    db,
    clock: systemClock,
    log: testLog('plans'),
    holder: 'plans',
    drivers: (clusterId) => (clusterId === small.clusterId ? Promise.resolve(engine) : silent()),
    policy: { gapMs: 0 },
  });
  reconciler.hint(small.clusterId);
  const report = await eventually({ what: 'the comparison' }, async () => {
    const made = await reconciler.compareNext();
    return made?.clusterId === small.clusterId && made;
  });
  expect(report.repairs.length).toBeGreaterThan(0);
  expect(report.orphans).toHaveLength(1);
  await reconciler.stop();
}

describe('with 10 000 live rentals of one organisation among 100 000, and one plan for all values', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['the first page', () => list({})],
    ['the last page', () => list({ after: some().id })],
    ['the rare ones of a status', () => list({ statuses: ['Failed'] })],
    ['a type that there is none of', () => list({ kinds: ['bare-metal'] })],
    ['both types together', () => list({ kinds: bothTypes })],
    ['both types further on', () => list({ kinds: bothTypes, after: some().id })],
    ['one rental', () => getRentalRecord(database.db, tenant, some().wireId, now)],
    ['one that is somebody else’s', () => getRentalRecord(database.db, tenant, 2_000_000_000, now)],
    ['history', () => history({})],
    ['history of a type and a time', () => history({ kinds: ['bare-metal'], from: new Date(0), until: now })],
    ['what a rental has cost', () => getRentalCost(database.db, tenant, some().wireId, now)],
    [
      'what happened to a rental',
      () =>
        feed.pageAbout(tenant.orgId, {
          after: 0,
          limit: PAGE,
          about: [{ kind: 'rental', id: String(some().wireId) }],
        }),
    ],
    ['a stream of that', follow],
    ['a comparison of a cluster with its engine', compare],
    ['rentals that nobody has worked on in time', () => lateOnes()],
    ['what falls due', () => enqueueDueRentals(database.db, PAGE, { log: testLog('plans') })],
    ['a look at a rental with nothing to do', () => lookOnce()],
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
