import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { reconcileToIdle, reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { listMachines } from '../model/machines.store.ts';
import { createRentalHarness, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';

/** Tests every fault that a test key can inject, and its effect on the rental. */

const harness = await createRentalHarness();
afterAll(() => harness.drop());
afterEach(async () => {
  expect(await harness.violations()).toEqual([]);
});

const rentWith = (tenant: Tenant, fault: string, more: Record<string, string> = {}): Promise<Rental> =>
  harness.rent(tenant, 'test', { tags: { 'millrace.fault': fault, ...more } });

const machinesOf = (rental: Rental) => listMachines(harness.db, rental.orgId, rental.id, 'all');

async function expectNothingLeft(rental: Rental): Promise<void> {
  const { machines } = await harness.engines.test.driver.listOwned(new AbortController().signal);
  expect(machines.filter(({ orgId }) => orgId === rental.orgId)).toEqual([]);
  expect(await harness.paid(rental.orgId, causeOfRental(rental))).toBe(0n);
}

describe('machine with the injected fault', () => {
  it.each(['boot-fails', 'create-fails', 'wrong-gpu-count'])(
    '%s is tried on two hosts, fails and leaves nothing behind',
    async (fault) => {
      const tenant = await harness.tenant();
      const failed = await reconcileUntil(harness, await rentWith(tenant, fault), {
        until: 'Failed',
        policy: { gpuLooks: 4 },
      });
      const machines = await machinesOf(failed);
      expect(new Set(machines.map(({ nodeId }) => nodeId)).size).toBe(2);
      const ended = await reconcileUntil(harness, failed, { until: 'Terminated' });
      expect(ended.startedAt).toBeNull();
      await expectNothingLeft(ended);
    },
  );

  it('slow-boot runs after its boot, on the first host', async () => {
    const tenant = await harness.tenant();
    const accepted = await rentWith(tenant, 'slow-boot');
    const policy = { pollMs: 5_000, firstRetryMs: 5_000 };
    const rental = await reconcileUntil(harness, accepted, { until: 'Running', policy });
    const bootMs = (rental.startedAt?.getTime() ?? 0) - rental.createdAt.getTime();
    expect(bootMs).toBeGreaterThanOrEqual(300_000);
    expect(bootMs).toBeLessThan(330_000);
    expect(await machinesOf(rental)).toHaveLength(1);
  });

  it.each(['flaky', 'lost-events', 'create-late'])('%s still runs', async (fault) => {
    const tenant = await harness.tenant();
    const accepted = await rentWith(tenant, fault);
    const rental = await reconcileUntil(harness, accepted, {
      until: 'Running',
      ticking: fault === 'create-late',
    });
    expect(await machinesOf(rental)).toHaveLength(1);
    await reconcileToIdle(harness, rental);
  });

  it('engine-silent runs when its engine responds', async () => {
    const tenant = await harness.tenant();
    const rental = await reconcileUntil(harness, await rentWith(tenant, 'engine-silent'), {
      until: 'Running',
      rounds: 1_000,
    });
    const silentMs = (rental.startedAt?.getTime() ?? 0) - rental.createdAt.getTime();
    expect(silentMs).toBeGreaterThanOrEqual(120_000);
    expect(silentMs).toBeLessThan(150_000);
  });
});
