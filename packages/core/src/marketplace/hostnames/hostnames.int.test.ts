import { SimulatedClock, systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { createNetGuard } from '@millrace/platform/net';
import {
  createTenant,
  createTestDatabase,
  insertFleet,
  insertRentals,
  type InsertedRental,
  type TestDatabase,
} from '@millrace/testing';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { HostAddresses } from './host-addresses.ts';
import { readHostnameRoutes } from './hostnames.service.ts';
import { OnlineInstances } from './online-instances.ts';

let database: TestDatabase;
/** One rental in each live status; the remaining ones are online. */
const LIVE = 7;
let rentals: readonly InsertedRental[];
let supplierOrg: string;

/** Index into the inserted rentals; the last ones are online. */
function idOf(index: number): string {
  const rental = rentals.at(index);
  if (rental === undefined) throw new Error('no rental was inserted');
  return toUuid(rental.id);
}

async function run(text: string): Promise<void> {
  await database.query(text);
}

beforeAll(async () => {
  database = await createTestDatabase();
  const { db } = database;
  const { orgId, ownerId: userId } = await createTenant(db);
  supplierOrg = toUuid((await createTenant(db)).orgId);
  const fleet = await insertFleet(db, { nodes: 1, offer: 'marketplace' });
  const request = { orgId, userId, ...fleet, kind: 'instance' } as const;
  rentals = await insertRentals(db, { ...request, live: LIVE });
  await insertRentals(db, { ...request, live: 0, ended: 1 });
  await run(`insert into instances (rental_id, org_id, mode, name, node_id, cluster_name, price_nano_usd_per_gpu_hour, fee_ppm, record)
    select rental.id, rental.org_id, rental.mode, 'a-b-' || lower(rental.status) || rental.wire_id % 10, machine.node_id, 'c1', 1, 0, '{}'
      from rentals as rental join rental_machines as machine on machine.rental_id = rental.id`);
  await run(`update rentals set custom_ports = '{8080,9000}'`);
  await run(`update rental_machines set address = '198.18.0.7', ports = '[
    {"internalPort":22,"externalPort":30000,"protocol":"tcp"}, {"internalPort":8080,"externalPort":30001,"protocol":"tcp"},
    {"internalPort":9000,"externalPort":30002,"protocol":"tcp"}]'`);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await run('update rentals set supplier_org_id = null, supplier_rate_nano_usd_per_hour = null');
  await run(`update rental_machines set state = 'open' where state = 'proven'`);
  await run(`update rentals set status = 'Running', task = null, task_deadline_at = null, end_accepted_at = null
    where status = 'Terminating' and end_reason = 'test'`);
});

function names(allowedNetworks: readonly string[] = []) {
  const guard = createNetGuard({ allowedNetworks });
  const addresses = new HostAddresses({ clock: systemClock, guard });
  const online = new OnlineInstances({ db: database.db, clock: systemClock });
  return readHostnameRoutes({ online, addresses }, 'run.example.com');
}

test('online instances have a hostname for each port except SSH, and others have none', async () => {
  const found = await names();
  const of = (status: string) => found.filter(({ name }) => name.includes(status)).length;
  expect(of('running')).toBe(6);
  // The engine is silent, but the machine may still run.
  expect(of('unknown')).toBe(2);
  expect(found).toHaveLength(8);
  const [first] = found;
  expect(first?.name).toMatch(/^(8080|9000)-a-b-[a-z]+\d\.run\.example\.com$/);
  expect(new Set(found.map(({ address, port }) => `${address}:${port}`))).toEqual(
    new Set(['198.18.0.7:30001', '198.18.0.7:30002']),
  );
});

test('hosts of suppliers get hostnames only for allowed addresses', async () => {
  await run(`update rentals set supplier_org_id = '${supplierOrg}', supplier_rate_nano_usd_per_hour = 0
    where id = '${idOf(-1)}'`);
  expect(await names()).toHaveLength(6);
  expect(await names(['198.18.0.0/15'])).toHaveLength(8);
});

test('a machine before hand-over or during termination has no hostname', async () => {
  await run(`update rental_machines set state = 'proven' where state = 'open'`);
  expect(await names(['198.18.0.0/15'])).toEqual([]);
});

test('ended instances are found at the next read, and nothing is read without changes', async () => {
  const clock = new SimulatedClock();
  const online = new OnlineInstances({ db: database.db, clock });
  const count = async (): Promise<number> => (await online.read()).length;
  expect(await count()).toBe(4);
  // Bypasses the recording of changes, which our code never does.
  await run(`update rental_machines set state = 'proven' where state = 'open' and rental_id = '${idOf(-2)}'`);
  expect(await count()).toBe(4);
  await run(`update rentals set status = 'Terminating', task = 'release', task_deadline_at = now(), end_accepted_at = now(),
    end_reason = 'test' where id = '${idOf(-1)}'`);
  expect(await count()).toBe(2);
});

test('all instances are read again after 30 seconds, even without recorded changes', async () => {
  const clock = new SimulatedClock();
  const online = new OnlineInstances({ db: database.db, clock });
  expect(await online.read()).toHaveLength(4);
  await run(`update rental_machines set state = 'proven' where state = 'open' and rental_id = '${idOf(-2)}'`);
  await clock.advance(30_000);
  expect(await online.read()).toHaveLength(3);
});
