import type { ComputeDriver, MachineMetrics } from '@millrace/compute';
import { systemClock } from '@millrace/platform/clock';
import { afterAll, describe, expect, it } from 'vitest';
import { reconcileToIdle, reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { executeIdleRule } from './idle-rules.service.ts';
import { createRentalHarness, quiet, SECOND_MS } from '../model/rental.fixture.ts';
import type { IdleRule, Rental } from '../model/rental.ts';
import { findRental } from '../model/rentals.store.ts';
import { sampleDueShards, type SamplingDeps } from './sampling.service.ts';

const harness = await createRentalHarness();
const tenant = await harness.tenant();
// Live rentals use the mock driver here, which reports GPU utilisation.
await harness.rows(`update providers set driver = 'mock'`);
afterAll(() => harness.drop());

async function runningWith(idle: IdleRule): Promise<Rental> {
  return reconcileUntil(harness, await harness.rent(tenant, 'live', { gpuCount: 1, idle }), {
    until: 'Running',
  });
}

const asItIs = async (rental: Rental): Promise<Rental> =>
  (await findRental(harness.db, rental.orgId, rental.id)) ?? expect.fail('The rental does not exist.');

/** Samples idle machines for `rounds` rounds, like a worker. */
async function watch(
  rounds: number,
  gpus: MachineMetrics['gpus'] = [{ pciAddress: '0000:10:00.0', utilisationPercent: 0 }],
): Promise<void> {
  const metrics = async (): Promise<MachineMetrics> => ({
    at: harness.clock.now(),
    cpuSeconds: 1,
    ramUsedBytes: null,
    diskUsedBytes: null,
    networkInBytes: 1,
    networkOutBytes: 1,
    gpus,
  });
  const { db } = harness;
  const deps: SamplingDeps = {
    db,
    clock: systemClock,
    log: quiet,
    drivers: async (clusterId) =>
      new Proxy(await harness.drivers(clusterId), {
        get: (target, name): unknown => (name === 'metrics' ? metrics : Reflect.get(target, name, target)),
      }) satisfies ComputeDriver,
    onIdle: (rental) => executeIdleRule(db, rental),
  };
  for (let round = 0; round < rounds; round += 1) {
    await harness.advance(30 * SECOND_MS);
    while ((await sampleDueShards(deps, new AbortController().signal)) === 'busy');
  }
}

describe('idle rule', () => {
  const idle = { afterSeconds: 300, action: 'terminate' } as const;

  it('is rejected if the driver does not report GPU utilisation', async () => {
    await harness.rows(`update providers set driver = 'incus' where mode = 'live'`);
    await expect(harness.rent(tenant, 'live', { gpuCount: 1, idle })).rejects.toMatchObject({
      reason: 'IDLE_RULE_NOT_SUPPORTED',
    });
    await harness.rows(`update providers set driver = 'mock' where mode = 'live'`);
  });

  it('is rejected for bare metal with any driver', async () => {
    await expect(harness.rentMetal(tenant, { idle })).rejects.toMatchObject({
      reason: 'IDLE_RULE_NOT_SUPPORTED',
    });
  });

  it('never applies to a rental whose GPUs are not reported', async () => {
    const rental = await runningWith({ afterSeconds: 300, action: 'terminate' });
    await watch(12, null);
    expect(await asItIs(rental)).toMatchObject({ status: 'Running', task: null });
  });
});

describe('idle rental', () => {
  it('is stopped with its GPUs released, and stays unchanged while off', async () => {
    const rental = await runningWith({ afterSeconds: 300, action: 'stop' });
    await watch(10);
    expect(await asItIs(rental)).toMatchObject({ power: 'on', task: null });
    await watch(1);
    expect(await asItIs(rental)).toMatchObject({
      task: 'stop',
      taskOptions: { release: true, because: 'idle' },
    });
    expect(await reconcileToIdle(harness, rental)).toMatchObject({
      power: 'off',
      gpuHeld: false,
      status: 'Running',
    });
    await watch(11);
    expect(await asItIs(rental)).toMatchObject({ power: 'off', task: null });
  });

  it('is terminated with a reason if its rule says so', async () => {
    const rental = await runningWith({ afterSeconds: 300, action: 'terminate' });
    await watch(11);
    const ended = await asItIs(rental);
    expect(ended).toMatchObject({ status: 'Terminating', endReason: 'The rental was idle for 300 seconds.' });
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('is left unchanged if its rule has changed since it was sampled', async () => {
    const rule = { afterSeconds: 300, action: 'terminate' } as const;
    const rental = await runningWith({ ...rule, afterSeconds: 86_400 });
    await watch(11);
    await executeIdleRule(harness.db, { rentalId: rental.id, orgId: rental.orgId, mode: 'live', rule });
    expect(await asItIs(rental)).toMatchObject({ status: 'Running', task: null });
  });
});
