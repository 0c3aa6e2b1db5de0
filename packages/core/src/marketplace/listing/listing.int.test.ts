import { toUuid, type NodeId } from '@millrace/platform/ids';
import {
  createTenant,
  createTestDatabase,
  insertFleet,
  insertSupplierMachine,
  testClock,
  testIds,
  testLog,
  type InsertedMachine,
} from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { markReleasing, transitionNode, place, releaseAllocation } from '../../fleet/index.ts';
import { createListing, readListedRecords, type Listing } from './listing.ts';
import type { MachineRecord } from './machine-record.ts';

const MOST_STEPS = 50;
const committed = { name: 'change', isolation: 'read committed' } as const;
const system = { kind: 'system', id: 'test' } as const;

const database = await createTestDatabase();
const tenant = await createTenant(database.db);
const supplier = await createTenant(database.db);
afterAll(() => database.drop());

async function change(text: string, values: readonly unknown[] = []): Promise<void> {
  await database.query(text, [...values]);
}

function follow(pageSize = 3): {
  listing: Listing;
  look(): Promise<void>;
  clock: ReturnType<typeof testClock>;
} {
  const clock = testClock();
  const listing = createListing({
    db: database.db,
    clock,
    log: testLog(),
    tuning: { pageSize, packForMs: 1e9 },
  });
  const look = async (): Promise<void> => {
    for (let step = 0; (await listing.step()) === 'busy'; step += 1) {
      if (step > MOST_STEPS) throw new Error('The listing never becomes idle.');
    }
  };
  return { listing, look, clock };
}

function shown(listing: Listing): Map<string, MachineRecord> {
  const found = listing.table()?.table.select({ filters: {} });
  if (found === undefined) throw new Error('The listing is not loaded yet.');
  const text = Buffer.concat(
    found.runs.map(({ bytes, from, until }) => bytes.subarray(from, until)),
  ).toString();
  const records = JSON.parse(`[${text.slice(1)}]`) as MachineRecord[];
  return new Map(records.map((record) => [record.id, record]));
}

const machineOf = (
  fields: Partial<Parameters<typeof insertSupplierMachine>[1]> = {},
): Promise<InsertedMachine> =>
  insertSupplierMachine(database.db, {
    orgId: supplier.orgId,
    region: 'us-east-1',
    gpusPerNode: 4,
    ...fields,
  });

const sell = (nodeId: NodeId, gpus: number) =>
  database.db.transaction(committed, (tx) =>
    place(tx, {
      orgId: tenant.orgId,
      externalId: testIds.nextUuid(),
      holder: 'instance',
      mode: 'live',
      offer: 'marketplace',
      region: 'us-east-1',
      gpuType: 'h100',
      connectionType: 'ethernet',
      cuda: null,
      gpusPerNode: gpus,
      nodeCount: 1,
      except: [],
      only: nodeId,
      ports: [{ internalPort: 22, protocol: 'tcp' }],
      freesAt: null,
    }),
  );

describe('listing', () => {
  it('shows the reported hardware of a machine with supplier and price', async () => {
    const { nodeId, supplierId } = await machineOf({ clusterName: 'blue' });
    await sell(nodeId, 1);
    const { listing, look } = follow();
    await look();
    expect(shown(listing).get(nodeId)).toEqual({
      id: nodeId,
      status: 'node_ready',
      hardware: {
        cpus: [{ hardware_type: 'cpu', model: 'AMD EPYC 9654', cores: 192, virtual_cores: 192 }],
        gpus: Array.from({ length: 4 }, () => ({
          hardware_type: 'gpu',
          model: 'NVIDIA H100 80GB HBM3',
          clock_speed: 0,
          compute_power: 0,
          ram: 81_559,
          interface: 'sxm5',
        })),
        storage: [{ hardware_type: 'storage', capacity: 30_000 }],
        ram: [{ hardware_type: 'ram', capacity: 2_097_152 }],
      },
      instances: [
        {
          id: expect.stringMatching(/^rnt_/),
          status: 'creating',
          hardware: [{ gpu: { hardware_type: 'gpu', model: 'NVIDIA H100 80GB HBM3', ram: 81_559 } }],
        },
      ],
      location: { region: 'us-east-1' },
      network: {
        public_ip: false,
        bandwidth_mbps_down: 9_000,
        bandwidth_mbps_up: 9_000,
        interconnect: 'ethernet',
        ports_available: 9_999,
      },
      gpus_total: 4,
      gpus_reserved: 1,
      has_persistent_storage: true,
      supplier_id: supplierId,
      pricing: { price: { amount: 2, period: 'hourly', agent: 'platform' } },
      reserved: false,
      cluster_name: 'blue',
    });
  });

  it("shows the operator's machines only with a price of their cluster", async () => {
    const [priced, unpriced, rental] = [
      await insertFleet(database.db, { nodes: 2, offer: 'marketplace', gpusPerNode: 1 }),
      await insertFleet(database.db, { nodes: 1, offer: 'marketplace', gpusPerNode: 1 }),
      await insertFleet(database.db, { nodes: 1, gpusPerNode: 1 }),
    ];
    const { listing, look } = follow();
    await look();
    const ids = [...priced.nodeIds, ...unpriced.nodeIds, ...rental.nodeIds];
    expect(ids.filter((id) => shown(listing).has(id))).toEqual([]);
    await change(`update clusters set settings = '{"pricePerGpuHourUsd": 1.25}' where id = $1`, [
      toUuid(priced.clusterId),
    ]);
    await look();
    expect(ids.filter((id) => shown(listing).has(id))).toEqual([...priced.nodeIds]);
    const first = shown(listing).get(ids[0] ?? '');
    expect(first).toMatchObject({ supplier_id: 'platform', pricing: { price: { amount: 1.25 } } });
  });

  it('follows every kind of change of a machine and agrees with a newly loaded listing', async () => {
    const { nodeId, clusterId } = await machineOf();
    const other = await machineOf();
    const { listing, look } = follow();
    await look();
    const node = toUuid(nodeId);
    const org = toUuid(supplier.orgId);
    let sold: Awaited<ReturnType<typeof sell>> | undefined;
    const steps: Readonly<Record<string, () => Promise<unknown>>> = {
      sold: async () => (sold = await sell(nodeId, 2)),
      released: () =>
        database.db.transaction(committed, async (tx) => {
          if (sold === undefined) throw new Error('The machine was not sold.');
          await markReleasing(tx, tenant.orgId, sold.allocationId);
          await releaseAllocation(tx, tenant.orgId, sold.allocationId);
        }),
      'another price': () =>
        change('update supplier_machines set price_nano_usd_per_gpu_hour = 1500000000 where node_id = $1', [
          node,
        ]),
      'a faulty GPU': () =>
        change(
          `update gpus set state = 'faulty' where id = (select id from gpus where node_id = $1 limit 1)`,
          [node],
        ),
      'another address': () => change(`update nodes set address = '8.8.8.8' where id = $1`, [node]),
      'measured by its self-test': () =>
        change(
          `update supplier_machines set tests = '{"network": {"downMbps": 900.5, "upMbps": "x"}}' where node_id = $1`,
          [node],
        ),
      'fewer ports': () => change('update clusters set port_last = 20009 where id = $1', [toUuid(clusterId)]),
      draining: () =>
        database.db.transaction(committed, (tx) =>
          transitionNode(tx, nodeId, 'node_draining', { reason: 'asked to', actor: system }),
        ),
      'not listed': () => change('update supplier_machines set listed = false where node_id = $1', [node]),
      'listed again': () => change('update supplier_machines set listed = true where node_id = $1', [node]),
      'its supplier suspended': () =>
        change(`update suppliers set status = 'suspended' where org_id = $1`, [org]),
      'its supplier back': () => change(`update suppliers set status = 'approved' where org_id = $1`, [org]),
      'its organisation suspended': () =>
        change(`update organisations set status = 'suspended', suspended_at = now() where id = $1`, [org]),
      'its organisation back': () =>
        change(`update organisations set status = 'active', suspended_at = null where id = $1`, [org]),
      closed: () => change('update node_capacity set open = false where node_id = $1', [node]),
      open: () => change('update node_capacity set open = true where node_id = $1', [node]),
      withdrawn: () =>
        change(
          `update supplier_machines set stage = 'withdrawn', withdrawn_at = now(), listed = false where node_id = $1`,
          [node],
        ),
    };
    let before = JSON.stringify([...shown(listing)]);
    for (const [what, play] of Object.entries(steps)) {
      await play();
      await look();
      const after = JSON.stringify([...shown(listing)]);
      expect(after, `${what} shows`).not.toBe(before);
      const fresh = follow();
      await fresh.look();
      expect(after, `${what} shows as it is`).toBe(JSON.stringify([...shown(fresh.listing)]));
      expect(listing.snapshot()?.digest, what).toBe(fresh.listing.snapshot()?.digest);
      before = after;
    }
    expect(shown(listing).has(nodeId)).toBe(false);
    expect(shown(listing).has(other.nodeId)).toBe(true);
  });

  it('shows test machines only to queries that name their region', async () => {
    const { clusterId, nodeIds } = await insertFleet(database.db, {
      nodes: 1,
      offer: 'marketplace',
      mode: 'test',
      gpusPerNode: 1,
    });
    await change(`update clusters set settings = '{"pricePerGpuHourUsd": 1}' where id = $1`, [
      toUuid(clusterId),
    ]);
    const { listing, look } = follow();
    await look();
    const [id] = nodeIds;
    if (id === undefined) throw new Error('One node was inserted.');
    expect(shown(listing).has(id)).toBe(false);
    const table = listing.table()?.table;
    expect(table?.select({ filters: { id } }).runs).toEqual([]);
    expect(table?.select({ filters: { id, region: 'mock-region' } }).runs).toHaveLength(1);
  });

  it('reads everything again after a pause longer than half the retention of changes', async () => {
    const { nodeId } = await machineOf();
    const { listing, look, clock } = follow();
    await look();
    await change('update supplier_machines set listed = false where node_id = $1', [toUuid(nodeId)]);
    await change('delete from listing_changes');
    await look();
    expect(shown(listing).has(nodeId)).toBe(true);
    await clock.advance(301_000);
    await look();
    expect(shown(listing).has(nodeId)).toBe(false);
  });

  it('compares all machines with the database at intervals, so lost changes are repaired', async () => {
    const [deleted, stays] = [await machineOf(), await machineOf()];
    const { listing, look, clock } = follow();
    await look();
    await change('update supplier_machines set listed = false where node_id = $1', [toUuid(deleted.nodeId)]);
    await change('delete from listing_changes');
    for (let passed = 0; passed <= 3_600_000; passed += 200_000) {
      await clock.advance(200_000);
      await look();
    }
    expect(shown(listing).has(deleted.nodeId)).toBe(false);
    expect(shown(listing).has(stays.nodeId)).toBe(true);
  });

  it('escapes any text that an engine reports', async () => {
    const { nodeId } = await machineOf();
    await change(`update nodes set cpu_model = E'\\u2028"}],"x":[{' || repeat('ü', 1000) where id = $1`, [
      toUuid(nodeId),
    ]);
    const { listing, look } = follow();
    await look();
    expect(shown(listing).get(nodeId)?.hardware.cpus[0]?.model).toContain('"}],"x":[{');
    const records = await readListedRecords(database.db, [nodeId]);
    expect([...records.keys()]).toEqual([nodeId]);
  });
});
