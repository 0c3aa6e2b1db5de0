import { DriverError, type MachineSpec } from '@millrace/compute';
import { fromUuid, toUuid } from '@millrace/platform/ids';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { transitionNode } from '../../fleet/index.ts';
import {
  createFaultyDriver,
  reconcileToIdle,
  reconcileUntil,
  withDriver,
} from '../reconcile/reconcile.fixture.ts';
import { terminateRental } from '../actions/termination.service.ts';
import { listMachines } from '../model/machines.store.ts';
import { compareAll, advanceComparing, createInventoryReconciler } from '../inventory/inventory.fixture.ts';
import { createRentalHarness, DAY_MS, SECOND_MS, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';
import { findRental } from '../model/rentals.store.ts';

/** Tests gangs of whole nodes: provisioned, moved and terminated as one. Eight nodes on two fabrics of four. */

let tenant: Tenant;
const harness = await createRentalHarness({ poolSize: 16 });
afterAll(() => harness.drop());
beforeEach(async () => {
  tenant = await harness.tenant({ balanceUsd: 100_000 });
  await harness.watch();
});
afterEach(async () => {
  await clear();
  expect(await harness.violations()).toEqual([]);
});

const never = new AbortController().signal;

const actor = { kind: 'system', id: 'test' } as const;

const end = ({ orgId, id }: Pick<Rental, 'orgId' | 'id'>) =>
  harness.run((tx) => terminateRental(tx, orgId, id, { reason: 'done', actor }));

/** Terminates all rentals and returns all nodes to sale. */
async function clear(): Promise<void> {
  const live = await harness.rows<{ id: string; org_id: string }>(
    `select id, org_id from rentals where status <> 'Terminated' order by id`,
  );
  for (const { id, org_id } of live) {
    const rental = await findRental(harness.db, fromUuid('org', org_id), fromUuid('rnt', id));
    if (rental === null) expect.fail('The rental does not exist.');
    if (rental.status !== 'Terminating' && rental.status !== 'Failed') await end(rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  }
  const quarantined = await harness.rows<{ id: string }>(
    `select id from nodes where status = 'node_quarantined'`,
  );
  for (const { id } of quarantined) {
    await harness.run((tx) =>
      transitionNode(tx, fromUuid('nod', id), 'node_ready', { reason: 'wiped by hand', actor }),
    );
  }
}

const fabricsOf = async (rental: Rental): Promise<readonly string[]> => {
  const rows = await harness.rows<{ fabric: string }>(
    `select distinct fabric.name as fabric from rental_machines as machine
       join rentals as rental on rental.id = machine.rental_id and rental.attempt = machine.attempt
       join node_capacity as capacity on capacity.node_id = machine.node_id
       join fabrics as fabric on fabric.id = capacity.fabric_id
      where rental.wire_id = ${rental.wireId}`,
  );
  return rows.map(({ fabric }) => fabric);
};

const statusOf = async (nodeId: Parameters<typeof toUuid>[0]) => {
  const [node] = await harness.rows<{ status: string; reason: string | null; ready: boolean }>(
    `select node.status, node.status_reason as reason, capacity.ready from nodes as node
       join node_capacity as capacity on capacity.node_id = node.id where node.id = '${toUuid(nodeId)}'`,
  );
  return node ?? expect.fail('The node does not exist.');
};

const faultyNodes = (rental: Rental) =>
  harness.rows<{ node_id: string }>(
    `select node_id from node_faults join rentals on rentals.id = rental_id where wire_id = ${rental.wireId}`,
  );

const owned = async (): Promise<number> =>
  (await harness.engines.metal.driver.listOwned(never)).machines.filter(({ orgId }) => orgId === tenant.orgId)
    .length;

describe('gang', () => {
  it('has whole nodes of one fabric with one verified machine each before billing starts', async () => {
    const rental = await reconcileUntil(harness, await harness.rentMetal(tenant, { gpuCount: 32 }), {
      until: 'Running',
    });
    const machines = await listMachines(harness.db, rental.orgId, rental.id);
    expect(machines.map(({ position, state }) => `${position} ${state}`)).toEqual([
      '1 open',
      '2 open',
      '3 open',
      '4 open',
    ]);
    expect(new Set(machines.map(({ nodeId }) => nodeId)).size).toBe(4);
    expect(machines.every(({ gpuAddresses }) => gpuAddresses.length === 8)).toBe(true);
    expect(await fabricsOf(rental)).toHaveLength(1);
    await harness.advance(90 * SECOND_MS);
    const receipt = await end(rental);
    // 32 GPUs for 90 seconds.
    expect(receipt.finalCost).toBe((3_980_000_001n * 32n * 90n) / 3_600n);
  });

  it('under concurrent orders is accepted as often as capacity allows, without sharing a node', async () => {
    const many = await Promise.all(Array.from({ length: 8 }, () => harness.tenant()));
    const tries = await Promise.allSettled(many.map((one) => harness.rentMetal(one, { gpuCount: 16 })));
    const got = tries.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(got).toHaveLength(4);
    for (const failed of tries.filter(({ status }) => status === 'rejected')) {
      expect(failed).toMatchObject({ reason: { reason: 'INSUFFICIENT_CAPACITY' } });
    }
    const nodes = (
      await Promise.all(got.map(({ orgId, id }) => listMachines(harness.db, orgId, id)))
    ).flatMap((machines) => machines.map(({ nodeId }) => nodeId));
    expect(new Set(nodes).size).toBe(8);
    for (const rental of got) expect(await fabricsOf(rental)).toHaveLength(1);
    await expect(harness.rentMetal(tenant)).rejects.toMatchObject({ reason: 'INSUFFICIENT_CAPACITY' });
  });

  it('larger than every fabric is rejected although enough nodes are free', async () => {
    await expect(harness.rentMetal(tenant, { gpuCount: 40 })).rejects.toMatchObject({
      reason: 'INSUFFICIENT_CAPACITY',
    });
  });

  it('with one failing node moves once as a whole, and only that node gets a fault', async () => {
    const accepted = await harness.rentMetal(tenant, { gpuCount: 24 });
    const first = await listMachines(harness.db, accepted.orgId, accepted.id);
    const bad = first[1] ?? expect.fail('The rental has no second machine.');
    const failing = withDriver(harness, (driver) => ({
      create: (spec: MachineSpec, signal: AbortSignal) =>
        spec.nodeName === bad.nodeName
          ? Promise.reject(new DriverError('failed', 'its image could not be written'))
          : driver.create(spec, signal),
    }));
    const rental = await reconcileUntil(failing, accepted, { until: 'Running' });
    await reconcileToIdle(harness, rental);
    const all = await listMachines(harness.db, rental.orgId, rental.id, 'all');
    const deleted = all.filter(({ attempt }) => attempt === 1);
    expect(deleted.map(({ state }) => state)).toEqual(['gone', 'gone', 'gone']);
    expect(new Set(all.map(({ nodeId }) => nodeId)).size).toBe(6);
    expect(await owned()).toBe(3);
    expect(await faultyNodes(rental)).toEqual([{ node_id: toUuid(bad.nodeId) }]);
    // A single failure does not take the node out of sale.
    expect(await statusOf(bad.nodeId)).toMatchObject({ status: 'node_ready', ready: true });
  });

  it('whose node the engine gave to another user moves, and that node is quarantined', async () => {
    const accepted = await harness.rentMetal(tenant, { gpuCount: 16 });
    const [bad] = await listMachines(harness.db, accepted.orgId, accepted.id);
    const taken = withDriver(harness, (driver) => ({
      create: (spec: MachineSpec, signal: AbortSignal) =>
        spec.nodeName === bad?.nodeName
          ? Promise.reject(new DriverError('no_capacity', 'another user has the node'))
          : driver.create(spec, signal),
    }));
    const rental = await reconcileUntil(taken, accepted, { until: 'Running' });
    expect(rental.attempt).toBe(2);
    expect(await statusOf(bad?.nodeId ?? expect.fail('The rental has no machine.'))).toMatchObject({
      status: 'node_quarantined',
      ready: false,
    });
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(0n);
  });

  it('has a longer provisioning timeout than a virtual machine, and then fails without cost', async () => {
    const accepted = await harness.rentMetal(tenant);
    const slow = withDriver(harness, () => ({
      create: () => Promise.reject(new DriverError('unavailable', 'deploying')),
    }));
    const policy = { maxRetryMs: 5 * 60_000 };
    const failed = await reconcileUntil(slow, accepted, { until: 'Failed', policy });
    const tookMs = failed.statusSince.getTime() - failed.createdAt.getTime();
    expect(tookMs).toBeGreaterThanOrEqual(2 * 60 * 60_000);
    expect(tookMs).toBeLessThan(3 * 60 * 60_000);
    await reconcileUntil(harness, failed, { until: 'Terminated' });
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
    expect(await owned()).toBe(0);
  });
});

describe('node that could not be wiped', () => {
  const unclean = () =>
    withDriver(harness, () => ({
      terminate: () => Promise.reject(new DriverError('unclean', 'erase_devices failed')),
      describe: () => expect.fail('describe must not be called for a deleted machine.'),
    }));

  it('is quarantined when its machine is deleted, and its tenant is released without extra cost', async () => {
    const rental = await reconcileUntil(harness, await harness.rentMetal(tenant, { gpuCount: 16 }), {
      until: 'Running',
    });
    const machines = await listMachines(harness.db, rental.orgId, rental.id);
    await harness.advance(60 * SECOND_MS);
    const receipt = await end(rental);
    const faultyDriver = createFaultyDriver(unclean());
    const watched = { ...harness, drivers: faultyDriver.drivers, db: faultyDriver.db };
    // A crash in the transaction changes nothing, and the node is never for sale.
    faultyDriver.plan({ at: 'free unclean machine', when: 'before' });
    await harness.advance(DAY_MS);
    await reconcileUntil(watched, rental, { until: 'Terminated', faultyDriver });
    expect(faultyDriver.spent()).toBe(true);
    for (const { nodeId } of machines) {
      expect(await statusOf(nodeId)).toMatchObject({
        status: 'node_quarantined',
        ready: false,
        reason: expect.stringContaining('could not be wiped') as unknown,
      });
    }
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(receipt.finalCost);
    expect(await harness.rows(`select 1 from allocations where state <> 'released'`)).toEqual([]);
    // The mock still has these machines, because its terminate was replaced.
    for (const machine of machines) await harness.engines.metal.driver.terminate(machine, never);
  });

  it('is quarantined also when its machine was an orphan', async () => {
    const rental = await reconcileUntil(harness, await harness.rentMetal(tenant), { until: 'Running' });
    const [machine] = await listMachines(harness.db, rental.orgId, rental.id);
    if (machine === undefined) expect.fail('The rental has no machine.');
    await end(rental);
    const pretending = withDriver(harness, () => ({
      terminate: () => Promise.resolve(),
      describe: () => Promise.resolve(null),
    }));
    await reconcileUntil(pretending, rental, { until: 'Terminated' });
    expect(await statusOf(machine.nodeId)).toMatchObject({ status: 'node_ready' });
    const { drivers } = unclean();
    const reconciler = createInventoryReconciler(harness, { drivers });
    await compareAll(reconciler);
    await advanceComparing(harness, reconciler, 80 * SECOND_MS);
    expect(await statusOf(machine.nodeId)).toMatchObject({ status: 'node_quarantined', ready: false });
    await harness.engines.metal.driver.terminate(machine, never);
  });
});

describe('bare-metal order', () => {
  it('uses the image with the requested CUDA version, unless it names an image', async () => {
    const images: string[] = [];
    const noting = withDriver(harness, (driver) => ({
      create: (spec: MachineSpec, signal: AbortSignal) => {
        images.push(spec.image);
        return driver.create(spec, signal);
      },
    }));
    for (const request of [
      {},
      { cudaVersion: 'cuda12.8' },
      { cudaVersion: 'cuda12.9', image: 'debian-12' },
    ] as const) {
      await reconcileUntil(noting, await harness.rentMetal(tenant, request), { until: 'Running' });
    }
    expect(images).toEqual(['ubuntu-24.04', 'ubuntu-24.04-cuda12.9', 'debian-12']);
  });
});
