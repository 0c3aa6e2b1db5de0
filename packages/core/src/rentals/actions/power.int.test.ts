import { loginAndCountGpus } from '@millrace/compute/readiness';
import { toUuid } from '@millrace/platform/ids';
import { meteredTotal } from '@millrace/platform/money';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { rateOf } from '../../prices/index.ts';
import { reconcileRental } from '../reconcile/reconcile-rental.ts';
import {
  createFaultyDriver,
  reconcileToIdle,
  reconcileUntil,
  reconcileDepsOf,
} from '../reconcile/reconcile.fixture.ts';
import { startRunningRental, expectConsistent, meters, viewOf } from '../lifecycle.fixture.ts';
import { lockRentalView, terminateRental } from './termination.service.ts';
import { rebootRental, startRental, stopRental } from './power.service.ts';
import { advanceComparing, createInventoryReconciler } from '../inventory/inventory.fixture.ts';
import { createRentalHarness, HOUR_MS, newSshPair, usd, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';

/** Tests stop, start and reboot with GPUs kept or released, and the cost of each. */

const harness = await createRentalHarness();
await harness.offerTerm(1);
afterAll(() => harness.drop());
afterEach(() => expectConsistent(harness));

const never = new AbortController().signal;
/** Every mock machine has booted by then. */
const BOOTED_MS = 6_000;
const actorOf = (tenant: Tenant) => tenant.call('live').cause.actor;

const stop = (tenant: Tenant, rental: Rental, release = true): Promise<Rental> =>
  harness.run(async (tx) =>
    stopRental(tx, await lockRentalView(tx, tenant.orgId, rental.id), { release, actor: actorOf(tenant) }),
  );
const start = (tenant: Tenant, rental: Rental): Promise<Rental> =>
  harness.run(async (tx) =>
    startRental(tx, await lockRentalView(tx, tenant.orgId, rental.id), { actor: actorOf(tenant) }),
  );
const reboot = (tenant: Tenant, rental: Rental): Promise<Rental> =>
  harness.run(async (tx) =>
    rebootRental(tx, await lockRentalView(tx, tenant.orgId, rental.id), {
      force: true,
      actor: actorOf(tenant),
    }),
  );
const end = (tenant: Tenant, rental: Rental) =>
  harness.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, { reason: 'done', actor: actorOf(tenant) }),
  );

const machineOf = async (rental: Rental) => {
  const [machine] = (await viewOf(harness, rental)).machines;
  return machine ?? expect.fail('The rental has no machine.');
};
const atEngine = async (rental: Rental) =>
  harness.engines.live.driver.describe(await machineOf(rental), never);

/** Free GPUs of the node that has the rental's disk. */
const freeBeside = async (rental: Rental): Promise<number> => {
  const { nodeId } = await machineOf(rental);
  const [row] = await harness.rows<{ gpus_free: number }>(
    `select gpus_free from node_capacity where node_id = '${toUuid(nodeId)}'`,
  );
  return row?.gpus_free ?? -1;
};

describe('stop without release', () => {
  it('switches the rental off at the same cost, and start restores it', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant);
    expect(await stop(tenant, rental, false)).toMatchObject({
      task: 'stop',
      power: 'changing',
      gpuHeld: true,
    });
    const off = await reconcileToIdle(harness, rental);
    expect(off).toMatchObject({ status: 'Running', power: 'off', gpuHeld: true, task: null });
    expect((await atEngine(rental))?.power).toBe('off');
    expect(await stop(tenant, rental, false)).toEqual(off);
    await expect(reboot(tenant, rental)).rejects.toMatchObject({ reason: 'RENTAL_IS_OFF' });
    await harness.advance(HOUR_MS);
    await start(tenant, rental);
    await expect(start(tenant, rental)).rejects.toMatchObject({ reason: 'ACTION_IN_PROGRESS' });
    const on = await reconcileToIdle(harness, rental);
    expect(on).toMatchObject({ status: 'Running', power: 'on', task: null });
    expect(await start(tenant, rental)).toEqual(on);
    const all = await meters(harness, rental);
    expect(all.map(({ name, state }) => [name, state])).toEqual([['gpu', 'open']]);
    await end(tenant, rental);
  });

  it('allows a reboot while on, and one task at a time', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant);
    await reboot(tenant, rental);
    for (const action of [reboot, start, stop]) {
      await expect(action(tenant, rental)).rejects.toMatchObject({ reason: 'ACTION_IN_PROGRESS' });
    }
    expect(await reconcileToIdle(harness, rental)).toMatchObject({ power: 'on', task: null });
    await end(tenant, rental);
    await expect(stop(tenant, rental)).rejects.toMatchObject({ reason: 'ACTION_IN_PROGRESS' });
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expect(start(tenant, rental)).rejects.toMatchObject({ reason: 'ALREADY_TERMINATED' });
  });
});

describe('stop with release', () => {
  it('bills only the disk, frees the GPUs, and start allocates new ones', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { gpuCount: 2 });
    const free = await freeBeside(rental);
    await stop(tenant, rental);
    const off = await reconcileToIdle(harness, rental);
    expect(off).toMatchObject({ status: 'Running', power: 'off', gpuHeld: false, allocationId: null });
    expect(await freeBeside(rental)).toBe(free + 2);
    expect(await machineOf(rental)).toMatchObject({ allocationId: null, gpuAddresses: [] });
    expect(await atEngine(rental)).toMatchObject({ power: 'off', gpuPciAddresses: [], ports: [] });
    expect(await stop(tenant, rental)).toEqual(off);
    await harness.advance(3 * HOUR_MS);
    await harness.sweepMeters();
    const pending = await start(tenant, rental);
    expect(pending).toMatchObject({ status: 'Pending', task: 'provision', gpuHeld: false });
    const on = await reconcileUntil(harness, rental, { until: 'Running' });
    expect(on).toMatchObject({ power: 'on', gpuHeld: true, startedAt: rental.startedAt });
    const machine = await machineOf(rental);
    await harness.advance(BOOTED_MS);
    const target = {
      host: machine.address ?? '',
      port: machine.ports.find(({ internalPort }) => internalPort === 22)?.externalPort ?? 0,
      user: machine.sshUser ?? '',
      privateKey: tenant.ssh.privateKey,
      hostKey: machine.hostKey,
    };
    expect(await loginAndCountGpus(target, never)).toMatchObject({ outcome: 'in', gpuCount: 2 });
    await harness.advance(HOUR_MS);
    const { finalCost } = await end(tenant, rental);
    const all = await meters(harness, rental);
    expect(all.map(({ name, state }) => [name, state])).toEqual([
      ['gpu', 'closed'],
      ['disk-1', 'closed'],
      ['gpu-2', 'closed'],
    ]);
    // Each meter opens when the previous one closes.
    expect(all.map(({ openedAt }) => openedAt).slice(1)).toEqual(
      all.map(({ closedAt }) => closedAt).slice(0, 2),
    );
    const disk = rental.diskPrice ?? expect.fail('The disk has no price.');
    expect(all[1]?.ratePerHour).toBe(rateOf(disk));
    const cost = all.reduce(
      (sum, { ratePerHour, elapsedBeforeMs }) => sum + meteredTotal(ratePerHour, elapsedBeforeMs),
      0n,
    );
    expect(finalCost).toBe(cost);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(cost);
    expect(await harness.balance(tenant.orgId)).toMatchObject({ balance: usd(1_000) - cost, held: 0n });
  });

  it('bills a started rental from when the engine reports it on, even if its system refuses logins, and keeps its keys', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { customPorts: [8080] });
    const { driver } = harness.engines.live;
    // The tenant's system accepts one key, which is not the platform's.
    const own = newSshPair();
    await driver.setKeys(await machineOf(rental), [own.publicKey], never);
    await stop(tenant, rental);
    await reconcileToIdle(harness, rental);
    await start(tenant, rental);
    const faultyDriver = createFaultyDriver(harness);
    await reconcileUntil(harness, rental, { until: 'Running', faultyDriver });
    expect(faultyDriver.seen).not.toContain('setKeys');
    const machine = await machineOf(rental);
    const started = (await meters(harness, rental)).find(({ name }) => name === 'gpu-2');
    const stored = await harness.engines.live.memory.read(machine);
    expect(stored?.machine).toMatchObject({ sshKeys: [own.publicKey], ports: machine.ports });
    // Billing starts when the engine switches the machine on, without waiting for the boot.
    expect(started?.openedAt.getTime()).toBe(stored?.machine.onSinceMs);
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('leaves the rental off without a hold if its host has no free GPUs', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { gpuCount: 8 });
    await stop(tenant, rental);
    await reconcileToIdle(harness, rental);
    const { held } = await harness.balance(tenant.orgId);
    // Another tenant takes all free GPUs.
    const others = await harness.tenant({ balanceUsd: 10_000 });
    const taken: Rental[] = [];
    while ((await freeBeside(rental)) > 0)
      taken.push(await startRunningRental(harness, others, { gpuCount: 8 }));
    await expect(start(tenant, rental)).rejects.toMatchObject({ reason: 'INSUFFICIENT_CAPACITY' });
    expect((await viewOf(harness, rental)).rental).toMatchObject({
      status: 'Running',
      power: 'off',
      task: null,
    });
    expect((await harness.balance(tenant.orgId)).held).toBe(held);
    for (const other of taken) {
      await end(others, other);
      await reconcileUntil(harness, other, { until: 'Terminated' });
    }
    await start(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Running' });
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('leaves the rental off without a hold if its start fails, and a later start succeeds', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant);
    await stop(tenant, rental);
    await reconcileToIdle(harness, rental);
    const free = await freeBeside(rental);
    const { held } = await harness.balance(tenant.orgId);
    await start(tenant, rental);
    const faultyDriver = createFaultyDriver(harness);
    faultyDriver.plan({ at: 'setGpus', when: 'after', kind: 'failed' });
    const failed = await reconcileUntil(harness, rental, { until: 'Running', faultyDriver });
    expect(failed.statusReason).toContain('start failed');
    // The release of the newly allocated GPUs is retried until it succeeds.
    faultyDriver.plan({ at: 'stop', when: 'before', kind: 'failed', times: 3 });
    for (let round = 0; round < 20 && !faultyDriver.spent(); round += 1) {
      await reconcileRental(reconcileDepsOf(harness, { faultyDriver }), rental.orgId, rental.id, never);
      await harness.advance(30_000);
    }
    expect(faultyDriver.spent()).toBe(true);
    const off = await reconcileToIdle(harness, rental);
    expect(off).toMatchObject({
      status: 'Running',
      power: 'off',
      gpuHeld: false,
      task: null,
      allocationId: null,
    });
    expect(await freeBeside(rental)).toBe(free);
    expect((await harness.balance(tenant.orgId)).held).toBe(held);
    expect((await meters(harness, rental)).map(({ name, state }) => [name, state])).toEqual([
      ['gpu', 'closed'],
      ['disk-1', 'open'],
    ]);
    await start(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Running' });
    expect((await viewOf(harness, rental)).terms).toHaveLength(2);
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('leaves the GPUs if they cannot be detached, and the ports are back after a start', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { customPorts: [8080] });
    const { ports } = await machineOf(rental);
    await stop(tenant, rental);
    const faultyDriver = createFaultyDriver(harness);
    faultyDriver.plan({ at: 'setGpus', when: 'before', kind: 'failed' });
    await reconcileRental(reconcileDepsOf(harness, { faultyDriver }), rental.orgId, rental.id, never);
    expect(faultyDriver.spent()).toBe(true);
    const reconciler = createInventoryReconciler(harness);
    await advanceComparing(harness, reconciler, 20_000);
    const off = (await viewOf(harness, rental)).rental;
    expect(off).toMatchObject({ status: 'Running', power: 'off', gpuHeld: true, task: null });
    await start(tenant, rental);
    expect(await reconcileToIdle(harness, rental)).toMatchObject({ power: 'on', task: null });
    expect(await atEngine(rental)).toMatchObject({ power: 'on', ports });
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('rejects a start without sufficient balance', async () => {
    const tenant = await harness.tenant({ balanceUsd: 6 });
    const rental = await startRunningRental(harness, tenant);
    await harness.advance(45 * 60_000);
    await stop(tenant, rental);
    await reconcileToIdle(harness, rental);
    const free = await freeBeside(rental);
    await expect(start(tenant, rental)).rejects.toMatchObject({ reason: 'INSUFFICIENT_BALANCE' });
    expect(await freeBeside(rental)).toBe(free);
    expect((await viewOf(harness, rental)).rental).toMatchObject({ status: 'Running', power: 'off' });
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('allows termination while the rental is off and while it is starting', async () => {
    const tenant = await harness.tenant();
    for (const startFirst of [false, true]) {
      const rental = await startRunningRental(harness, tenant);
      await stop(tenant, rental);
      await reconcileToIdle(harness, rental);
      if (startFirst) await start(tenant, rental);
      await end(tenant, rental);
      await reconcileUntil(harness, rental, { until: 'Terminated' });
      expect((await harness.balance(tenant.orgId)).held).toBe(0n);
    }
  });

  it('costs nothing in test mode', async () => {
    const tenant = await harness.tenant({ balanceUsd: 0 });
    await harness.watch();
    const rental = await reconcileUntil(harness, await harness.rent(tenant, 'test'), { until: 'Running' });
    await stop(tenant, rental);
    expect(await reconcileToIdle(harness, rental)).toMatchObject({ power: 'off', gpuHeld: false });
    await harness.advance(HOUR_MS);
    await start(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Running' });
    await harness.advance(HOUR_MS);
    expect(await end(tenant, rental)).toMatchObject({ finalCost: 0n });
    expect((await meters(harness, rental)).map(({ name }) => name)).toEqual(['gpu', 'disk-1', 'gpu-2']);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('is rejected for a reserved term, which is paid to its end', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant, { termType: 'reserved', termPeriodDays: 1 });
    await expect(stop(tenant, rental)).rejects.toMatchObject({ reason: 'RELEASE_NOT_SUPPORTED' });
    await stop(tenant, rental, false);
    expect(await reconcileToIdle(harness, rental)).toMatchObject({ power: 'off', gpuHeld: true });
    await end(tenant, rental);
  });

  it('runs each task once with concurrent requests and workers', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant);
    const stops = await Promise.allSettled([1, 2, 3].map(() => stop(tenant, rental)));
    expect(stops.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await Promise.all([1, 2, 3].map(() => reconcileToIdle(harness, rental)));
    const starts = await Promise.allSettled([1, 2, 3].map(() => start(tenant, rental)));
    expect(starts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await reconcileUntil(harness, rental, { until: 'Running', workers: 3 });
    expect((await meters(harness, rental)).map(({ name }) => name)).toEqual(['gpu', 'disk-1', 'gpu-2']);
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
  });
});
