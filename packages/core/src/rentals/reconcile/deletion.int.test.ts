import type { MachineSpec } from '@millrace/compute';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { reconcileRental } from './reconcile-rental.ts';
import {
  createFaultyDriver,
  SimulatedCrash,
  reconcileUntil,
  reconcileDepsOf,
  withDriver,
  type InjectedFault,
} from './reconcile.fixture.ts';
import { terminateRental } from '../actions/termination.service.ts';
import { listMachines } from '../model/machines.store.ts';
import { kinds, rentAs } from '../marketplace.fixture.ts';
import { compareAll, advanceComparing, createInventoryReconciler } from '../inventory/inventory.fixture.ts';
import { createRentalHarness, SECOND_MS, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';

/** Tests termination at any point, with faults injected during the deletion. */

const harness = await createRentalHarness();
afterAll(() => harness.drop());
afterEach(async () => {
  expect(await harness.violations()).toEqual([]);
});

const never = new AbortController().signal;

const end = (tenant: Tenant, rental: Rental) =>
  harness.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, { reason: 'done', actor: tenant.call('live').cause.actor }),
  );

async function expectNothingLeft(tenant: Tenant, rental: Rental): Promise<void> {
  const lists = await Promise.all(
    Object.values(harness.engines).map(({ driver }) => driver.listOwned(never)),
  );
  const machines = lists.flatMap((owned) => owned.machines);
  expect(machines.filter(({ orgId }) => orgId === tenant.orgId)).toEqual([]);
  expect((await harness.balance(tenant.orgId)).held).toBe(0n);
  const live = await harness.rows(
    `select 1 from allocations join rentals on rentals.id = allocations.external_id
      where allocations.state <> 'released' and rentals.wire_id = ${rental.wireId}`,
  );
  expect(live).toEqual([]);
}

describe.each(kinds)('terminating a $kind rental during provisioning', ({ kind, machines }) => {
  // All engine calls and transactions of a start without faults, in order.
  const points = 12 * machines;

  // All kinds share these steps, so only one kind is terminated at every point.
  const every = kind === 'virtual-machine' ? 1 : 2;
  it.each(Array.from({ length: points }, (_, nth) => nth).filter((nth) => nth % every === 0))(
    'before point %i leaves nothing behind and charges nothing unless the rental ran',
    async (nth) => {
      const tenant = await harness.tenant();
      const faultyDriver = createFaultyDriver(harness);
      const accepted = await rentAs(harness, kind, tenant, { customPorts: [8080] });
      let ended = false;
      faultyDriver.interrupt(nth, async () => {
        await end(tenant, accepted);
        ended = true;
      });
      const over = await reconcileUntil(harness, accepted, {
        until: 'Terminated',
        faultyDriver,
        rounds: 60,
      }).catch((error: unknown) => {
        // The start has fewer points, so the rental runs and was not terminated.
        if (ended) throw error;
        return null;
      });
      if (over === null) {
        expect(nth).toBeGreaterThanOrEqual(faultyDriver.seen.length);
        await end(tenant, accepted);
        await reconcileUntil(harness, accepted, { until: 'Terminated' });
      }
      await expectNothingLeft(tenant, accepted);
      if (over?.startedAt === null)
        expect(await harness.paid(tenant.orgId, causeOfRental(accepted))).toBe(0n);
    },
  );
});

describe.each(kinds)('terminating a $kind rental', ({ kind, engine }) => {
  const failures: readonly InjectedFault[] = [
    ...['cutAccess', 'terminate', 'describe'].flatMap((at) => [
      { at, when: 'before' as const },
      { at, when: 'after' as const },
      { at, when: 'before' as const, times: 3 },
    ]),
    ...['note access cut', 'note absence', 'free machine', 'end rental'].flatMap((at) => [
      { at, when: 'before' as const },
      { at, when: 'after' as const },
    ]),
  ];

  it.each(failures)('completes after a failure $when $at', async (sabotage) => {
    const tenant = await harness.tenant();
    const rental = await reconcileUntil(harness, await rentAs(harness, kind, tenant), { until: 'Running' });
    const receipt = await end(tenant, rental);
    const faultyDriver = createFaultyDriver(harness);
    faultyDriver.plan(sabotage);
    await reconcileUntil(harness, rental, { until: 'Terminated', faultyDriver });
    expect(faultyDriver.spent()).toBe(true);
    await expectNothingLeft(tenant, rental);
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(receipt.finalCost);
  });

  it('happens once with concurrent requests and workers', async () => {
    const tenant = await harness.tenant();
    const rental = await reconcileUntil(harness, await rentAs(harness, kind, tenant), { until: 'Running' });
    await harness.advance(90_000);
    const receipts = await Promise.all(Array.from({ length: 8 }, () => end(tenant, rental)));
    expect(new Set(receipts.map(({ finalCost }) => finalCost)).size).toBe(1);
    await reconcileUntil(harness, rental, { until: 'Terminated', workers: 4 });
    await expectNothingLeft(tenant, rental);
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(receipts[0]?.finalCost);
  });

  it('keeps the GPUs allocated while the engine is unreachable, until it reports the absence twice', async () => {
    const tenant = await harness.tenant();
    const rental = await reconcileUntil(harness, await rentAs(harness, kind, tenant), { until: 'Running' });
    const { controls } = harness.engines[engine];
    controls.silenceEngine();
    await end(tenant, rental);
    await expect(reconcileUntil(harness, rental, { until: 'Terminated', rounds: 30 })).rejects.toThrow(
      /Terminating/u,
    );
    const held = await harness.rows(`select 1 from allocations where state = 'releasing'`);
    expect(held).toHaveLength(1);
    controls.heal();
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expectNothingLeft(tenant, rental);
  });
});

describe('machine that is created after its rental has ended', () => {
  /** The worker that creates the machine is delayed until its rental is Terminated, then continues. */
  async function comesLate(tenant: Tenant, more: { readonly dies: boolean }) {
    const accepted = await harness.rent(tenant, 'live', { customPorts: [8080] });
    let made: MachineSpec | undefined;
    const late = withDriver(harness, (driver) => ({
      create: async (spec) => {
        await end(tenant, accepted);
        await reconcileUntil(harness, accepted, { until: 'Terminated' });
        await driver.create(spec, never);
        made = spec;
        if (more.dies) throw new SimulatedCrash('after the machine was created');
      },
    }));
    await reconcileRental(reconcileDepsOf(late), accepted.orgId, accepted.id, never);
    return { rental: accepted, spec: made ?? expect.fail('No machine was created.') };
  }

  it('is deleted by the worker that created it', async () => {
    const tenant = await harness.tenant();
    const { rental } = await comesLate(tenant, { dies: false });
    await expectNothingLeft(tenant, rental);
  });

  it('is deleted by the inventory reconciler if that worker crashed, and is inaccessible until then', async () => {
    const tenant = await harness.tenant();
    const { rental, spec } = await comesLate(tenant, { dies: true });
    const [machine] = await listMachines(harness.db, rental.orgId, rental.id, 'all');
    expect(machine).toMatchObject({ state: 'gone', proofKey: null });
    // The machine has only a readiness key that no longer exists anywhere else.
    expect(spec).toMatchObject({ userData: null, ports: [{ internalPort: 22 }] });
    expect(spec.sshKeys).toHaveLength(1);
    expect(spec.sshKeys).not.toContain(tenant.ssh.publicKey);
    const { machines } = await harness.engines.live.driver.listOwned(never);
    expect(machines.map(({ externalId }) => externalId)).toContain(spec.externalId);
    const reconciler = createInventoryReconciler(harness);
    await compareAll(reconciler);
    await advanceComparing(harness, reconciler, 80 * SECOND_MS);
    await expectNothingLeft(tenant, rental);
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(0n);
  });
});

describe('stuck machine deletion', () => {
  it('quarantines the node after ten minutes and completes in the end', async () => {
    const tenant = await harness.tenant();
    const tags = { 'millrace.fault': 'stuck-terminate', 'millrace.fault.for_ms': '900000' };
    const rental = await reconcileUntil(harness, await harness.rent(tenant, 'test', { tags }), {
      until: 'Running',
    });
    await harness.run((tx) =>
      terminateRental(tx, tenant.orgId, rental.id, {
        reason: 'done',
        actor: tenant.call('test').cause.actor,
      }),
    );
    await reconcileUntil(harness, rental, { until: 'Terminated', rounds: 2_000 });
    const nodes = await harness.rows<{ status: string }>(
      `select node.status from nodes as node join rental_machines as machine on machine.node_id = node.id
        join rentals on rentals.id = machine.rental_id where rentals.wire_id = ${rental.wireId}`,
    );
    expect(nodes).toEqual([{ status: 'node_quarantined' }]);
  });
});
