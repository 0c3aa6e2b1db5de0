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

/** Rentals of the tenant and of all other organisations. */
const OWN = 10_000;
const OTHERS = 90_000;
const ORGANISATIONS = 90;
const PAGE = 100;
/** Rentals on a small cluster. */
const SMALL = 60;

/** Tables that grow with a cell. Others contain configuration or few rows per organisation. */
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
    // Events are read from PostgreSQL here.
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

/** Lists statements whose cost grows with unrelated rows. */
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
/** A running rental in the middle of the list. */
const some = (): InsertedRental => {
  const rental = own[OWN + 50];
  if (rental === undefined) throw new Error('No rentals were inserted.');
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

const silent = async (): Promise<ComputeDriver> => Promise.reject(new Error('The engine is unreachable.'));

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
 * An engine that has lost every tenth machine, reports every eighth of the rest as off, and has orphans: one new and one known
 * that is due for removal. A third known orphan is no longer listed.
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

/** Orphans of other clusters, and two of the small cluster that were seen long ago. */
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

/** A complete comparison of the small cluster with repairs and with new, due and resolved orphans. */
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
    ['a page of a rare status', () => list({ statuses: ['Failed'] })],
    ['a page of a type without rentals', () => list({ kinds: ['bare-metal'] })],
    ['the first page of both types', () => list({ kinds: bothTypes })],
    ['a later page of both types', () => list({ kinds: bothTypes, after: some().id })],
    ['one rental', () => getRentalRecord(database.db, tenant, some().wireId, now)],
    ['a rental of another organisation', () => getRentalRecord(database.db, tenant, 2_000_000_000, now)],
    ['history', () => history({})],
    [
      'history filtered by type and time',
      () => history({ kinds: ['bare-metal'], from: new Date(0), until: now }),
    ],
    ['the cost of a rental', () => getRentalCost(database.db, tenant, some().wireId, now)],
    [
      'the events of a rental',
      () =>
        feed.pageAbout(tenant.orgId, {
          after: 0,
          limit: PAGE,
          about: [{ kind: 'rental', id: String(some().wireId) }],
        }),
    ],
    ['the event stream of a rental', follow],
    ['a comparison of a cluster with its engine', compare],
    ['the search for overdue rentals', () => lateOnes()],
    ['the sweep for due rentals', () => enqueueDueRentals(database.db, PAGE, { log: testLog('plans') })],
    ['reconciling an idle rental', () => lookOnce()],
    [
      'an update of a rental',
      () =>
        database.db.transaction({ name: 'test', isolation: 'read committed' }, (tx) =>
          updateRental(tx, call, some().wireId, { name: 'renamed', ttlSeconds: 3_600, maxUsd: 1_000 }),
        ),
    ],
  ])('%s uses an index and reads only what it returns', async (_, work) => {
    expect(await waste(work)).toEqual([]);
  });
});
