import { createContract, defaultProviders } from '@millrace/contract';
import { createIncusDriver } from '@millrace/compute/incus';
import { systemClock } from '@millrace/platform/clock';
import { toUuid } from '@millrace/platform/ids';
import { createLogger } from '@millrace/platform/log';
import {
  impossibleHardware,
  createTenant,
  createTestDatabase,
  makeCertificate,
  insertSupplierMachine,
  startHostileIncus,
  testClock,
  unusableResponseKinds,
  type Misbehaviour,
  type InsertedMachine,
} from '@millrace/testing';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDriverPool, FleetSync } from '../../fleet/index.ts';
import { createListing } from './listing.ts';
import type { MachineRecord } from './machine-record.ts';

/** Tests that false data of one daemon does not change the listing of other machines. */

const NAMES = ['honest', 'hostile'] as const;
type Name = (typeof NAMES)[number];

const response = createContract({ providers: defaultProviders }).operations.listMarketplaceMachines.response
  .schema;

const database = await createTestDatabase();
const { db } = database;
const own = await makeCertificate('millrace');
// The name of inserted nodes.
const start = () => startHostileIncus({ name: 'node-1' });
const daemons = { honest: await start(), hostile: await start() };
daemons.hostile.fake.hardware = {
  ...daemons.hostile.fake.hardware,
  gpus: daemons.hostile.fake.hardware.gpus.map((gpu) => ({ ...gpu, uuid: `${gpu.uuid}-b` })),
};
const insertMachine = async (): Promise<InsertedMachine> => {
  const { orgId } = await createTenant(db);
  return insertSupplierMachine(db, { orgId, region: 'us-east-1', gpusPerNode: 8 });
};
const machines = { honest: await insertMachine(), hostile: await insertMachine() };
for (const daemon of Object.values(daemons)) daemon.trust(own.fingerprint);
const log = createLogger({ name: 'listing', level: 'silent' });
const drivers = createDriverPool({
  db,
  log,
  connect: async ({ id }) => {
    const daemon = daemons[id === machines.honest.clusterId ? 'honest' : 'hostile'];
    return createIncusDriver({
      ...daemon.settingsFor(own),
      clock: systemClock,
      log,
    });
  },
});
// Both use the same holder, so each may store what it read.
const watch = (readTimeoutMs: number): FleetSync =>
  new FleetSync({
    ...{ db, clock: systemClock, log, holder: 'test', drivers },
    tuning: { readTimeoutMs, silentMs: 0 },
  });
// An honest daemon may be slow on a slow machine and must not become offline.
const sync = watch(60_000);
const quickSync = watch(500);
const clock = testClock();
const listing = createListing({ db, clock, log, tuning: { pageSize: 3, packForMs: 1e9 } });
afterAll(async () => {
  await sync.stop();
  await quickSync.stop();
  await drivers.close();
  await Promise.all(Object.values(daemons).map((daemon) => daemon[Symbol.asyncDispose]()));
  await database.drop();
});

async function look(): Promise<void> {
  await sync.tick();
  for (const name of NAMES) {
    await (daemons[name].misbehaviour === null ? sync : quickSync).look(machines[name].clusterId);
  }
  for (let step = 0; (await listing.step()) === 'busy'; step += 1) {
    if (step > 50) throw new Error('The listing never becomes idle.');
  }
}

/** The whole response, parsed and validated as by a client. */
function shown(): Readonly<Record<Name, MachineRecord | undefined>> {
  const found =
    listing.table()?.table.select({ filters: {} }) ?? expect.fail('The listing is not loaded yet.');
  const text = Buffer.concat(found.runs.map(({ bytes, from, until }) => bytes.subarray(from, until)));
  const { instances } = response.parse({ instances: JSON.parse(`[${text.toString().slice(1)}]`) as unknown });
  const of = (name: Name) => instances.find(({ id }) => id === machines[name].nodeId);
  return { honest: of('honest'), hostile: of('hostile') };
}

beforeEach(async () => {
  daemons.hostile.misbehaviour = null;
  await look();
  await look();
});
afterEach(() => {
  daemons.hostile.misbehaviour = null;
});

it('shows what honest doubles report, so that the following tests concern false data only', () => {
  const { honest: valid, hostile } = shown();
  expect(valid).toMatchObject({ status: 'node_ready', gpus_total: 8, gpus_reserved: 0 });
  expect(hostile).toMatchObject({ status: 'node_ready', gpus_total: 8 });
  expect(valid?.hardware.ram).toEqual([{ hardware_type: 'ram', capacity: 524_288 }]);
});

const ways: readonly (readonly [string, Misbehaviour])[] = [
  ...Object.entries<Misbehaviour>(unusableResponseKinds),
  ...Object.entries<Misbehaviour>(impossibleHardware),
];

describe.each(ways)('a daemon that responds with %s', (_, misbehaviour) => {
  it('is shown offline with its stored hardware, and the other machines are unchanged', async () => {
    const before = shown();
    daemons.hostile.misbehaviour = misbehaviour;
    await look();
    await look();
    const after = shown();
    expect(after.honest).toEqual(before.honest);
    expect(after.hostile).toEqual({ ...before.hostile, status: 'node_offline' });
  });
});

it('texts of a daemon are escaped, whatever they contain', async () => {
  const { hardware } = daemons.hostile.fake;
  const model = `H100","price":0}]}\u2028</script>\u0000\n${'\u{1F600}'.repeat(40)}`;
  daemons.hostile.fake.hardware = { ...hardware, gpus: hardware.gpus.map((gpu) => ({ ...gpu, model })) };
  await look();
  const { honest: valid, hostile } = shown();
  expect(valid?.status).toBe('node_ready');
  expect(hostile?.hardware.gpus).toHaveLength(8);
  expect(hostile?.hardware.gpus[0]?.model).toContain('</script>');
  daemons.hostile.fake.hardware = hardware;
});

it.each([
  '{}',
  '{"network": 7, "gpu": []}',
  '{"network": {"downMbps": "fast", "upMbps": 1e300}, "gpu": {"clockMhz": -1, "tflops": {}}}',
])('unexpected self-test results do not break the listing: %s', async (tests) => {
  await database.query('update supplier_machines set tests = $1 where id = $2', [
    tests,
    toUuid(machines.hostile.machineId),
  ]);
  await look();
  expect(shown().hostile?.gpus_total).toBe(8);
  expect(shown().honest?.gpus_total).toBe(8);
});
