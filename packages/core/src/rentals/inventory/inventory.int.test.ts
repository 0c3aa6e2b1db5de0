import { eventually } from '@millrace/testing';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { costAt, readMeterCost } from '../../metering/index.ts';
import { reconcileToIdle, reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { listMachines } from '../model/machines.store.ts';
import {
  terminateAll,
  compareAll,
  costBy,
  costOf,
  readRental,
  eventsOf,
  expectConsistentInventory,
  advanceComparing,
  createInventoryReconciler,
  runningRental,
  LONG_INTERVAL_MS,
  statusesOf,
} from './inventory.fixture.ts';
import { createRentalHarness, DAY_MS, MINUTE_MS, SECOND_MS, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';
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

describe('unreachable engine', () => {
  it('makes rentals Unknown after 90 s, is billed 5 min more, and is then free until it returns', async () => {
    const rental = await runningRental(harness, tenant);
    await advanceComparing(harness, reconciler, MINUTE_MS);
    const goodSign = harness.clock.now();
    harness.engines.live.controls.silenceEngine();
    await advanceComparing(harness, reconciler, 80 * SECOND_MS);
    expect((await readRental(harness, rental)).status).toBe('Running');
    await advanceComparing(harness, reconciler, 30 * SECOND_MS);
    const unknown = await readRental(harness, rental);
    expect(unknown).toMatchObject({ status: 'Unknown', unhealthySince: goodSign, billingPausedAt: null });
    await advanceComparing(harness, reconciler, 7 * MINUTE_MS, LONG_INTERVAL_MS);
    const pausedAt = new Date(unknown.statusSince.getTime() + 5 * MINUTE_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Unknown', billingPausedAt: pausedAt });
    const billedMs = pausedAt.getTime() - (rental.startedAt?.getTime() ?? 0);
    expect(await costBy(harness, rental)).toBe(costOf(billedMs));

    harness.engines.live.controls.heal();
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    const back = await readRental(harness, rental);
    expect(back).toMatchObject({
      status: 'Running',
      power: 'on',
      unhealthySince: null,
      billingPausedAt: null,
    });
    await harness.clock.advance(90 * MINUTE_MS);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    const backMs = harness.clock.nowMs() - back.statusSince.getTime();
    expect(await costBy(harness, rental)).toBe(costOf(billedMs + backMs));
    expect(await statusesOf(harness, rental)).toEqual(['Pending', 'Running', 'Unknown', 'Running']);
    expect((await eventsOf(harness, rental)).slice(-2)).toEqual(['rental.unknown', 'rental.running']);
  });

  it('for a short time causes no billing gap', async () => {
    const rental = await runningRental(harness, tenant);
    harness.engines.live.controls.silenceEngine();
    await advanceComparing(harness, reconciler, 4 * MINUTE_MS, LONG_INTERVAL_MS);
    expect((await readRental(harness, rental)).status).toBe('Unknown');
    harness.engines.live.controls.heal();
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect((await readRental(harness, rental)).status).toBe('Running');
    expect(await costBy(harness, rental)).toBe(costOf(sinceStart(rental)));
  });

  it('for a long time is lost: billing ends at the last healthy time, and its machine is deleted on return', async () => {
    const rental = await runningRental(harness, tenant);
    await advanceComparing(harness, reconciler, 20 * SECOND_MS);
    const goodSign = harness.clock.now();
    const billed = costOf(sinceStart(rental));
    harness.engines.live.controls.silenceEngine();
    await advanceComparing(harness, impatient, 9 * MINUTE_MS, LONG_INTERVAL_MS);
    expect((await readRental(harness, rental)).status).toBe('Unknown');
    await advanceComparing(harness, impatient, 70 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Failed', unhealthySince: goodSign });
    expect(await costBy(harness, rental)).toBe(billed);
    expect(await paidBy(rental)).toBe(billed);
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
    harness.engines.live.controls.heal();
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect((await harness.engines.live.driver.listOwned(never)).machines).toEqual([]);
    expect(await costBy(harness, rental)).toBe(billed);
  });

  it('during the end of a term does not bill the next term until it returns', async () => {
    await harness.offerTerm(30);
    const rental = await runningRental(harness, await harness.tenant({ balanceUsd: 5_000 }), {
      body: { termType: 'reserved', termPeriodDays: 30 },
    });
    await harness.clock.advance(30 * DAY_MS - 10 * MINUTE_MS);
    await advanceComparing(harness, reconciler, 20 * SECOND_MS);
    harness.engines.live.controls.silenceEngine();
    await advanceComparing(harness, reconciler, 9 * MINUTE_MS, LONG_INTERVAL_MS);
    const { billingPausedAt } = await readRental(harness, rental);
    expect(billingPausedAt).not.toBeNull();
    await harness.clock.advance(5 * MINUTE_MS);
    await reconcileToIdle(harness, rental);
    harness.engines.live.controls.heal();
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Running', billingPausedAt: null });
    await harness.clock.advance(MINUTE_MS);
    const { meters } = await readMeterCost(
      harness.db,
      rental.orgId,
      'live',
      causeOfRental(rental),
      harness.clock.now(),
    );
    const billedMs = (billingPausedAt?.getTime() ?? 0) - (rental.startedAt?.getTime() ?? 0);
    expect(meters.map(({ name, elapsedBeforeMs }) => [name, elapsedBeforeMs])).toEqual([
      ['gpu', billedMs],
      ['gpu-2', 0],
    ]);
    expect(costAt(meters[1] ?? expect.fail('The rental has no second meter.'), harness.clock.now())).toBe(
      costOf(MINUTE_MS),
    );
  });

  it('with one unreachable node affects only the rentals on that node', async () => {
    const [one, other] = [await runningRental(harness, tenant), await runningRental(harness, tenant)];
    const { nodeName } = await machineOf(one);
    const isTogether = (await machineOf(other)).nodeName === nodeName;
    harness.engines.live.controls.silenceNode(nodeName);
    await advanceComparing(harness, reconciler, 110 * SECOND_MS);
    expect((await readRental(harness, one)).status).toBe('Unknown');
    expect((await readRental(harness, other)).status).toBe(isTogether ? 'Unknown' : 'Running');
    harness.engines.live.controls.heal();
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect((await readRental(harness, one)).status).toBe('Running');
    expect(await costBy(harness, one)).toBe(costOf(sinceStart(one)));
    expect(await costBy(harness, other)).toBe(costOf(sinceStart(other)));
  });

  it('that fails to report one machine makes only that rental Unknown', async () => {
    const rental = await runningRental(harness, tenant, {
      labels: { 'millrace.fault': 'engine-silent', 'millrace.fault.after_ms': '60000' },
    });
    await advanceComparing(harness, reconciler, 170 * SECOND_MS);
    expect((await readRental(harness, rental)).status).toBe('Unknown');
    await advanceComparing(harness, reconciler, 30 * SECOND_MS);
    expect((await readRental(harness, rental)).status).toBe('Running');
    expect(await costBy(harness, rental)).toBe(costOf(sinceStart(rental)));
  });
});

describe('machine that the engine reports as missing', () => {
  it('is lost after the second report: Unknown, Failed, billed to the last healthy time', async () => {
    const rental = await runningRental(harness, tenant);
    const machine = await machineOf(rental);
    await advanceComparing(harness, reconciler, 30 * SECOND_MS);
    const billed = costOf(sinceStart(rental));
    harness.engines.live.controls.removeNode(machine.nodeName);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect((await readRental(harness, rental)).status).toBe('Running');
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect((await readRental(harness, rental)).status).toBe('Failed');
    expect(await costBy(harness, rental)).toBe(billed);
    expect(await paidBy(rental)).toBe(billed);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(await statusesOf(harness, rental)).toEqual([
      'Pending',
      'Running',
      'Unknown',
      'Failed',
      'Terminated',
    ]);
    expect((await eventsOf(harness, rental)).slice(-3)).toEqual([
      'rental.unknown',
      'rental.failed',
      'rental.terminated',
    ]);
  });

  it('is not lost if the engine lists it again', async () => {
    const rental = await runningRental(harness, tenant);
    const machine = await machineOf(rental);
    harness.engines.live.controls.removeNode(machine.nodeName);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    harness.engines.live.controls.heal();
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Running', unhealthySince: null });
    harness.engines.live.controls.removeNode(machine.nodeName);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect((await readRental(harness, rental)).status).toBe('Running');
    harness.engines.live.controls.heal();
    expect(await costBy(harness, rental)).toBe(costOf(sinceStart(rental)));
  });

  it('waives the remaining term', async () => {
    await harness.offerTerm(30);
    const rental = await runningRental(harness, await harness.tenant({ balanceUsd: 5_000 }), {
      body: { termType: 'reserved', termPeriodDays: 30 },
    });
    await advanceComparing(harness, reconciler, MINUTE_MS);
    const before = await costBy(harness, rental);
    expect(before).toBeGreaterThan(0n);
    harness.engines.live.controls.removeNode((await machineOf(rental)).nodeName);
    await advanceComparing(harness, reconciler, 20 * SECOND_MS);
    expect((await readRental(harness, rental)).status).toBe('Failed');
    expect(await costBy(harness, rental)).toBe(before);
    expect((await harness.balance(rental.orgId)).held).toBe(0n);
  });

  it('together with most others is not treated as lost', async () => {
    const rentals: Rental[] = [];
    for (let count = 0; count < 6; count += 1) rentals.push(await runningRental(harness, tenant));
    for (const { nodeName } of await Promise.all(rentals.map(machineOf)))
      harness.engines.live.controls.removeNode(nodeName);
    await advanceComparing(harness, reconciler, 3 * MINUTE_MS, LONG_INTERVAL_MS);
    for (const rental of rentals) expect((await readRental(harness, rental)).status).toBe('Unknown');
    harness.engines.live.controls.heal();
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    for (const rental of rentals) expect((await readRental(harness, rental)).status).toBe('Running');
  });
});

describe('ten minutes without comparisons', () => {
  it('cause no Unknown, no credit and no double charge if the machines ran', async () => {
    const rental = await runningRental(harness, tenant);
    await advanceComparing(harness, reconciler, MINUTE_MS);
    await harness.clock.advance(10 * MINUTE_MS);
    expect(await advanceComparing(harness, reconciler, 2 * MINUTE_MS)).toEqual([]);
    expect(await statusesOf(harness, rental)).toEqual(['Pending', 'Running']);
    expect(await costBy(harness, rental)).toBe(costOf(sinceStart(rental)));
    await harness.clock.advance(100 * MINUTE_MS);
    await harness.watch();
    expect(await advanceComparing(harness, reconciler, MINUTE_MS)).toEqual([]);
    expect(await paidBy(rental)).toBeLessThanOrEqual(costOf(sinceStart(rental)));
    expect(await costBy(harness, rental)).toBe(costOf(sinceStart(rental)));
  });

  it('do not count towards the 90 s of an engine that is unreachable afterwards', async () => {
    const rental = await runningRental(harness, tenant);
    await advanceComparing(harness, reconciler, MINUTE_MS);
    const goodSign = harness.clock.now();
    await harness.clock.advance(10 * MINUTE_MS);
    harness.engines.live.controls.silenceEngine();
    await advanceComparing(harness, reconciler, 90 * SECOND_MS);
    expect((await readRental(harness, rental)).status).toBe('Running');
    await advanceComparing(harness, reconciler, 20 * SECOND_MS);
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Unknown', unhealthySince: goodSign });
  });
});

describe('overdue rentals', () => {
  it('are enqueued after their deadline and counted', async () => {
    const rental = await runningRental(harness, tenant);
    expect(await reconciler.repairLate()).toBe(0);
    await harness.clock.advance(24 * 60 * MINUTE_MS);
    expect(await reconciler.repairLate()).toBe(1);
    expect((await readRental(harness, rental)).nextActionAt?.getTime()).toBeGreaterThan(
      harness.clock.nowMs(),
    );
    expect(await reconciler.repairLate()).toBe(0);
  });
});

describe('hints', () => {
  it('cause one early comparison, also if repeated', async () => {
    const rental = await runningRental(harness, tenant);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    await harness.clock.advance(3 * SECOND_MS);
    await harness.engines.live.driver.stop(await machineOf(rental), { graceMs: 0 }, never);
    expect(await compareAll(reconciler)).toEqual([]);
    reconciler.hint(harness.engines.live.clusterId);
    reconciler.hint(harness.engines.live.clusterId);
    expect(await compareAll(reconciler)).toEqual([]);
    await harness.clock.advance(2 * SECOND_MS);
    expect(await compareAll(reconciler)).toMatchObject([{ clusterId: harness.engines.live.clusterId }]);
    expect((await readRental(harness, rental)).power).toBe('off');
  });

  it('are optional: the running loop finds changes without them', async () => {
    const rental = await runningRental(harness, tenant);
    reconciler.start();
    await harness.engines.live.driver.stop(await machineOf(rental), { graceMs: 0 }, never);
    await eventually({ what: 'the loop to observe that the machine is off' }, async () => {
      await harness.clock.advance(SECOND_MS);
      return (await readRental(harness, rental)).power === 'off';
    });
    await reconciler.stop();
  });
});
