import { DriverError } from '@millrace/compute';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFaultyDriver, reconcileUntil, withDriver } from './reconcile.fixture.ts';
import { terminateRental } from '../actions/termination.service.ts';
import {
  terminateAll,
  compareAll,
  expectConsistentInventory,
  advanceComparing,
  createInventoryReconciler,
} from '../inventory/inventory.fixture.ts';
import { createRentalHarness, MINUTE_MS, SECOND_MS, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';

/** Tests which failures are recorded as faults of a host, and that tenants do not pay for them. */

let tenant: Tenant;
const harness = await createRentalHarness();
afterAll(() => harness.drop());
beforeEach(async () => {
  tenant = await harness.tenant();
  await harness.watch();
});
afterEach(async () => {
  await expectConsistentInventory(harness);
  await terminateAll(harness);
});

const never = new AbortController().signal;

const faultsOf = (rental: Rental) =>
  harness.rows<{ kind: string; reason: string; is_its_node: boolean }>(
    `select fault.kind, fault.reason, fault.node_id in (select node_id from rental_machines where rental_id = fault.rental_id)
            as is_its_node
       from node_faults as fault join rentals as rental on rental.id = fault.rental_id
      where rental.wire_id = ${rental.wireId} order by at`,
  );

describe('failed start', () => {
  it('is recorded once as a fault of its host, and costs nothing', async () => {
    const faultyDriver = createFaultyDriver(harness);
    faultyDriver.plan({ at: 'create', when: 'before', kind: 'failed' });
    const rental = await reconcileUntil(harness, await harness.rentInstance(tenant), {
      until: 'Failed',
      faultyDriver,
    });
    expect(await faultsOf(rental)).toEqual([
      { kind: 'start', reason: 'The host could not create the machine.', is_its_node: true },
    ]);
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(0n);
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
  });

  it('is recorded once if the worker crashes after the write and repeats it', async () => {
    const faultyDriver = createFaultyDriver(harness);
    const failing = withDriver(harness, () => ({
      create: () => Promise.reject(new DriverError('failed', 'no')),
    }));
    faultyDriver.plan({ at: 'give up attempt', when: 'after' });
    const deps = { ...failing, db: faultyDriver.db };
    const rental = await reconcileUntil(deps, await harness.rentInstance(tenant), { until: 'Failed' });
    expect(await faultsOf(rental)).toHaveLength(1);
  });

  it('is recorded if the machine is not ready in time', async () => {
    const silent = withDriver(harness, () => ({
      create: () => Promise.reject(new DriverError('unavailable', 'no answer')),
    }));
    const rental = await reconcileUntil(silent, await harness.rentInstance(tenant), {
      until: 'Failed',
      rounds: 2_000,
    });
    expect((await faultsOf(rental)).map(({ kind }) => kind)).toEqual(['start']);
  });

  it('is not recorded if the machine was never tried', async () => {
    const rental = await harness.rentInstance(tenant);
    await harness.advance(60 * MINUTE_MS);
    await reconcileUntil(harness, rental, { until: 'Failed' });
    expect(await faultsOf(rental)).toEqual([]);
  });

  it('is not recorded if the tenant terminated the rental first', async () => {
    const rental = await harness.rentInstance(tenant);
    const actor = tenant.call('live').cause.actor;
    await harness.run((tx) =>
      terminateRental(tx, tenant.orgId, rental.id, { reason: 'changed my mind', actor }),
    );
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(await faultsOf(rental)).toEqual([]);
  });
});

it('a machine that its supplier deleted is recorded as a loss and billed to its last healthy time', async () => {
  const reconciler = createInventoryReconciler(harness);
  await advanceComparing(harness, reconciler, 10 * SECOND_MS);
  const rental = await reconcileUntil(harness, await harness.rentInstance(tenant), { until: 'Running' });
  await advanceComparing(harness, reconciler, 5 * MINUTE_MS);
  const cause = causeOfRental(rental);
  await harness.sweepMeters();
  const [machine] = (await harness.engines.market.driver.listOwned(never)).machines.filter(
    ({ orgId }) => orgId === tenant.orgId,
  );
  await harness.engines.market.driver.terminate(machine ?? expect.fail('The tenant has no machine.'), never);
  await compareAll(reconciler);
  const startedMs = rental.startedAt?.getTime() ?? expect.fail('The rental never ran.');
  const lastGoodMs = harness.clock.nowMs();
  await advanceComparing(harness, reconciler, 10 * MINUTE_MS);
  await harness.sweepMeters();
  expect((await faultsOf(rental)).map(({ kind }) => kind)).toEqual(['loss']);
  const [price] = await harness.rows<{ rate: bigint }>(
    `select rate_nano_usd_per_hour as rate from meters where cause_id = '${cause.id}'`,
  );
  const rate = price?.rate ?? expect.fail('The rental has no meter.');
  const most = (rate * BigInt(lastGoodMs - startedMs)) / 3_600_000n;
  const paid = await harness.paid(tenant.orgId, cause);
  expect(paid).toBeGreaterThan(0n);
  expect(paid).toBeLessThanOrEqual(most);
});
