import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reconcileToIdle, reconcileUntil, withDriver } from '../reconcile/reconcile.fixture.ts';
import { lockRentalView } from '../actions/termination.service.ts';
import { listMachines } from '../model/machines.store.ts';
import {
  createMaintenanceWindow,
  terminateAll,
  costBy,
  costOf,
  readRental,
  expectConsistentInventory,
  advanceComparing,
  createInventoryReconciler,
  runningRental,
  LONG_INTERVAL_MS,
  statusesOf,
} from './inventory.fixture.ts';
import { createRentalHarness, MINUTE_MS, SECOND_MS, type Tenant } from '../model/rental.fixture.ts';
import type { Rental } from '../model/rental.ts';
import { stopRental } from '../actions/power.service.ts';
import type { InventoryReconciler } from './inventory-reconciler.ts';

let tenant: Tenant;

let reconciler: InventoryReconciler;

/** A reconciler that declares a host lost after ten minutes. */
let impatient: InventoryReconciler;

const harness = await createRentalHarness({ lookEveryMs: 0 });

afterAll(() => harness.drop());

beforeEach(async () => {
  tenant = await harness.tenant();
  reconciler = createInventoryReconciler(harness);
  impatient = createInventoryReconciler(harness, { policy: { lostAfterMs: 10 * MINUTE_MS } });
  await advanceComparing(harness, reconciler, 10 * SECOND_MS);
});

afterEach(async () => {
  await expectConsistentInventory(harness);
  await terminateAll(harness);
});

const never = new AbortController().signal;

const machineOf = async (rental: Rental) => {
  const [machine] = await listMachines(harness.db, rental.orgId, rental.id, 'all');
  return machine ?? expect.fail('The rental has no machine.');
};

const sinceStart = (rental: Rental): number =>
  harness.clock.nowMs() - (rental.startedAt?.getTime() ?? expect.fail('The rental never started.'));

/** The posted amount after a sweep of all due meters. */
async function paidBy(rental: Rental): Promise<bigint> {
  await harness.sweepMeters();
  const [{ posted } = { posted: -1n }] = await harness.rows<{ posted: bigint }>(
    `select sum(posted_nano_usd)::bigint as posted from meters where cause_id = '${rental.wireId}'`,
  );
  return posted;
}

/** Checks that the rental is started, and billed again from the next comparison and not earlier. */
async function expectBilledAgain(rental: Rental, billed: bigint): Promise<void> {
  expect(await reconcileToIdle(harness, rental)).toMatchObject({ task: null, power: 'on' });
  expect(await costBy(harness, rental)).toBe(billed);
  await advanceComparing(harness, reconciler, 10 * SECOND_MS);
  expect((await readRental(harness, rental)).billingPausedAt).toBeNull();
  const [{ elapsed } = { elapsed: -1n }] = await harness.rows<{ elapsed: bigint }>(
    `select elapsed_before_ms as elapsed from meters where cause_id = '${rental.wireId}' and state = 'open'`,
  );
  await harness.clock.advance(MINUTE_MS);
  expect(costOf(Number(elapsed))).toBe(billed);
  expect(await costBy(harness, rental)).toBe(costOf(Number(elapsed) + MINUTE_MS));
}

describe('failing host', () => {
  const dying = (forMs: number) => ({
    'millrace.fault': 'host-dies',
    'millrace.fault.after_ms': '60000',
    'millrace.fault.for_ms': String(forMs),
  });

  it('that returns costs nothing from the last healthy time until the machine is on', async () => {
    const rental = await runningRental(harness, tenant, { labels: dying(5 * MINUTE_MS) });
    const repairs = await advanceComparing(harness, reconciler, 4 * MINUTE_MS, LONG_INTERVAL_MS);
    const away = await readRental(harness, rental);
    expect(away.status).toBe('Unknown');
    expect(away.billingPausedAt).toEqual(away.unhealthySince);
    expect(repairs).toContainEqual({ do: 'pause', at: away.unhealthySince, because: 'host' });
    const billedMs = (away.unhealthySince?.getTime() ?? 0) - (rental.startedAt?.getTime() ?? 0);
    expect(billedMs).toBeGreaterThan(0);
    expect(await costBy(harness, rental)).toBe(costOf(billedMs));
    await advanceComparing(harness, reconciler, 3 * MINUTE_MS, LONG_INTERVAL_MS);
    const back = await readRental(harness, rental);
    expect(back).toMatchObject({ status: 'Running', billingPausedAt: null, unhealthySince: null });
    const backMs = harness.clock.nowMs() - back.statusSince.getTime();
    expect(await costBy(harness, rental)).toBe(costOf(billedMs + backMs));
  });

  it('that never returns is lost, and its machine is deleted when the host responds', async () => {
    const rental = await runningRental(harness, tenant, { labels: dying(15 * MINUTE_MS) });
    await advanceComparing(harness, impatient, 12 * MINUTE_MS, LONG_INTERVAL_MS);
    const lost = await readRental(harness, rental);
    expect(lost.status).toBe('Failed');
    const billedMs = (lost.unhealthySince?.getTime() ?? 0) - (rental.startedAt?.getTime() ?? 0);
    expect(await costBy(harness, rental)).toBe(costOf(billedMs));
    await reconcileUntil(harness, rental, { until: 'Terminated', rounds: 2_000 });
    expect(await statusesOf(harness, rental)).toEqual([
      'Pending',
      'Running',
      'Unknown',
      'Failed',
      'Terminated',
    ]);
    expect(await paidBy(rental)).toBe(costOf(billedMs));
  });

  it('that leaves the machine off has it started again, unbilled until it is on', async () => {
    const rental = await runningRental(harness, tenant);
    const machine = await machineOf(rental);
    await advanceComparing(harness, reconciler, 20 * SECOND_MS);
    const billed = costOf(sinceStart(rental));
    harness.engines.live.controls.silenceNode(machine.nodeName);
    await advanceComparing(harness, reconciler, 30 * SECOND_MS);
    harness.engines.live.controls.heal();
    await harness.engines.live.driver.stop(machine, { graceMs: 0 }, never);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Running', task: 'start' });
    expect(await costBy(harness, rental)).toBe(billed);
    await expectBilledAgain(rental, billed);
  });
});

describe('private address', () => {
  it('that the engine did not know at the hand-over is stored later', async () => {
    const rental = await runningRental(harness, tenant);
    const { privateIp } = await machineOf(rental);
    expect(privateIp).not.toBeNull();
    await harness.database.query('update rental_machines set private_ip = null');
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await machineOf(rental)).toMatchObject({ privateIp });
  });
});

describe('power', () => {
  it('switched off from inside by the tenant is shown and still billed', async () => {
    const rental = await runningRental(harness, tenant);
    const machine = await machineOf(rental);
    await harness.engines.live.driver.stop(machine, { graceMs: 0 }, never);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Running', power: 'off', task: null });
    await harness.clock.advance(10 * MINUTE_MS);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await costBy(harness, rental)).toBe(costOf(sinceStart(rental)));
    await harness.engines.live.driver.start(machine, never);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Running', power: 'on' });
    expect(await costBy(harness, rental)).toBe(costOf(sinceStart(rental)));
  });

  it('of an instance is switched on again after any cause, unbilled while off', async () => {
    await harness.watch();
    const rental = await reconcileUntil(harness, await harness.rentInstance(tenant), { until: 'Running' });
    const machine = await machineOf(rental);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    const before = await costBy(harness, rental);
    await harness.engines.market.driver.stop(machine, { graceMs: 0 }, never);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Running', task: 'start' });
    const whenSeen = await costBy(harness, rental);
    expect(whenSeen).toBeGreaterThan(before);
    await harness.clock.advance(10 * MINUTE_MS);
    expect(await costBy(harness, rental)).toBe(whenSeen);
    expect(await reconcileToIdle(harness, rental)).toMatchObject({ power: 'on', task: null });
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Running', billingPausedAt: null });
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await costBy(harness, rental)).toBeGreaterThan(whenSeen);
  });

  it('listed as off during a start is checked with describe', async () => {
    const rental = await runningRental(harness, tenant);
    const { drivers } = withDriver(harness, (driver) => ({
      listOwned: async (signal) => {
        const { machines, unreachableNodes } = await driver.listOwned(signal);
        return {
          unreachableNodes,
          machines: machines.map((machine) => ({ ...machine, power: 'off' as const })),
        };
      },
    }));
    const stale = createInventoryReconciler(harness, { drivers });
    await advanceComparing(harness, stale, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Running', power: 'on' });
  });

  it('of a released machine that is on is switched off again, and only its disk is billed', async () => {
    const rental = await runningRental(harness, tenant);
    const { actor } = tenant.call('live').cause;
    await harness.run(async (tx) =>
      stopRental(tx, await lockRentalView(tx, rental.orgId, rental.id), { release: true, actor }),
    );
    expect(await reconcileToIdle(harness, rental)).toMatchObject({ power: 'off', gpuHeld: false });
    const meters = () =>
      harness.rows(`select name, state from meters where cause_id = '${rental.wireId}' order by name`);
    const before = await meters();
    await harness.engines.live.driver.start(await machineOf(rental), never);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ task: 'stop', taskOptions: { release: true } });
    expect(await reconcileToIdle(harness, rental)).toMatchObject({
      task: null,
      power: 'off',
      gpuHeld: false,
    });
    expect((await harness.engines.live.driver.describe(await machineOf(rental), never))?.power).toBe('off');
    expect(await meters()).toEqual(before);
  });

  it('lost in a maintenance window is unbilled from its start and restored after its end', async () => {
    const rental = await runningRental(harness, tenant);
    const machine = await machineOf(rental);
    await advanceComparing(harness, reconciler, 30 * SECOND_MS);
    const startsAt = new Date(harness.clock.nowMs() + 5 * SECOND_MS);
    const endsAt = new Date(harness.clock.nowMs() + 20 * MINUTE_MS);
    const billed = costOf(sinceStart(rental) + 5 * SECOND_MS);
    await createMaintenanceWindow(harness, machine.nodeId, { startsAt, endsAt });
    await harness.clock.advance(6 * SECOND_MS);
    await harness.engines.live.driver.stop(machine, { graceMs: 0 }, never);
    await advanceComparing(harness, reconciler, MINUTE_MS);
    await harness.clock.advance(15 * MINUTE_MS);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({
      status: 'Running',
      power: 'off',
      task: null,
      billingPausedAt: startsAt,
    });
    await harness.clock.advance(6 * MINUTE_MS);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Running', task: 'start' });
    await expectBilledAgain(rental, billed);
  });

  it('off for a long maintenance window does not lose the machine', async () => {
    const rental = await runningRental(harness, tenant);
    const machine = await machineOf(rental);
    await advanceComparing(harness, reconciler, 30 * SECOND_MS);
    const billed = costOf(sinceStart(rental));
    await createMaintenanceWindow(harness, machine.nodeId, {
      startsAt: harness.clock.now(),
      endsAt: new Date(harness.clock.nowMs() + 12 * MINUTE_MS),
    });
    harness.engines.live.controls.silenceNode(machine.nodeName);
    await advanceComparing(harness, impatient, 20 * MINUTE_MS, LONG_INTERVAL_MS);
    expect((await readRental(harness, rental)).status).toBe('Unknown');
    expect(await costBy(harness, rental)).toBe(billed);
    harness.engines.live.controls.heal();
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Running', billingPausedAt: null });
    expect(await costBy(harness, rental)).toBe(billed);
  });
});
