import { toUuid, type OrgId } from '@millrace/platform/ids';
import {
  createTenant,
  insertFleet,
  insertRentals,
  insertSupplier,
  insertSupplierMachine,
  testIds,
  uniqueId,
} from '@millrace/testing';
import { afterAll, expect, it } from 'vitest';
import { serveBilling, zeroBurnRate } from '../billing/index.ts';
import { apply, charge, credit, usd } from '../money.fixture.ts';
import { seedOrganisation, startRoutes } from '../routes.fixture.ts';
import { serveOperatorOverview } from './index.ts';

const fixture = await startRoutes((deps) => {
  serveOperatorOverview(deps);
  serveBilling({ ...deps, burnOf: zeroBurnRate });
});
afterAll(() => fixture[Symbol.asyncDispose]());
const operator = await seedOrganisation(fixture.db, { platformRole: 'operator' });
const tenant = await seedOrganisation(fixture.db);
const orgId = tenant.organisation.id as OrgId;
const read = (key = operator.owner.key) => fixture.call({ method: 'GET', path: '/v2/admin/overview', key });

/** A charge of which the operator gets only the platform fee. */
async function chargeInstance(amount: number, fee: number): Promise<void> {
  const { orgId: supplier } = await createTenant(fixture.db);
  await apply(fixture, {
    do: 'debit',
    kind: 'charge',
    orgId,
    mode: 'live',
    cause: { kind: 'instance', id: uniqueId() },
    step: 'charge:1',
    amount: usd(amount),
    to: [
      { account: { kind: 'platform_fee' }, amount: usd(fee) },
      { account: { kind: 'supplier_payable', orgId: supplier }, amount: usd(amount - fee) },
    ],
    whenShort: 'refuse',
    description: 'An instance',
  });
}

async function insertMoney(): Promise<void> {
  await credit(fixture, orgId, { amount: usd(100) });
  await credit(fixture, orgId, { amount: usd(100), mode: 'test' });
  await charge(fixture, orgId, { amount: usd(3) });
  await charge(fixture, orgId, { amount: usd(7), mode: 'test' });
  await chargeInstance(10, 1.5);
  const transferId = await charge(fixture, orgId, { amount: usd(20) });
  const refunded = await fixture.call({
    method: 'POST',
    path: `/v2/admin/organisations/${orgId}/refunds`,
    key: operator.owner.key,
    body: { transferId, reason: 'because of a test' },
  });
  expect(refunded.status).toBe(201);
}

it('shows revenue without refunds and test mode, GPUs, nodes, rentals and pending decisions', async () => {
  await insertMoney();
  const { clusterId, nodeIds } = await insertFleet(fixture.db, { nodes: 2, gpusPerNode: 8 });
  await insertFleet(fixture.db, { nodes: 1, gpusPerNode: 4, mode: 'test' });
  const faulty = toUuid(nodeIds[0] ?? testIds.next('nod'));
  await fixture.database.query("update nodes set status = 'node_quarantined' where id = $1", [faulty]);
  await fixture.database.query('update node_capacity set ready = false where node_id = $1', [faulty]);
  await insertRentals(fixture.db, {
    ...{ orgId, userId: tenant.owner.userId as never, clusterId, nodeIds },
    live: 3,
    ended: 2,
  });
  await insertSupplier(fixture.db, { orgId: (await createTenant(fixture.db)).orgId, status: 'applied' });
  const approved = (await createTenant(fixture.db)).orgId;
  await insertSupplierMachine(fixture.db, { orgId: approved, approval: 'pending', gpusPerNode: 2 });

  const { status, json } = await read();
  expect(status).toBe(200);
  const revenue = {
    totalNanoUsd: '4500000000',
    products: { rentals: '3000000000', volumes: '0', instances: '1500000000', inference: '0' },
  };
  expect(json.revenue).toMatchObject({ today: revenue, month: revenue });
  expect(json.revenue.days).toEqual([{ day: expect.stringMatching(/T00:00:00\.000Z$/), ...revenue }]);
  expect(json.gpus).toEqual([{ gpuType: 'h100', total: 18, rented: 0, free: 10, unavailable: 8 }]);
  expect(json.nodes).toContainEqual({ status: 'node_quarantined', count: 1 });
  // Two of the operator and one of a supplier, but not the one of test mode.
  expect(json.nodes.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(3);
  const rentals = json.rentals as { status: string; count: number }[];
  expect(rentals.map(({ status: each }) => each)).not.toContain('Terminated');
  expect(rentals.reduce((sum, { count }) => sum + count, 0)).toBe(3);
  expect(json.pending).toEqual({ suppliers: 1, machines: 1, payouts: 0, payoutsNanoUsd: '0' });
});

it('is refused to tenants', async () => {
  expect((await read(tenant.owner.key)).status).toBe(403);
});
