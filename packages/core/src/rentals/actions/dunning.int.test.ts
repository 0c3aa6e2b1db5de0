import { toUuid } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd } from '@millrace/platform/money';
import { failingLoop, poisonRows, type Poison } from '@millrace/testing';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { applyLedger, createBudget, requireLedgerSuccess, type LedgerCommand } from '../../ledger/index.ts';
import { reconcileRental } from '../reconcile/reconcile-rental.ts';
import { reconcileToIdle, reconcileUntil, reconcileDepsOf } from '../reconcile/reconcile.fixture.ts';
import { executeRequiredActions, runningWork } from './dunning.service.ts';
import {
  startRunningRental,
  expectConsistent,
  later,
  meters,
  rentalEventTypes,
  viewOf,
} from '../lifecycle.fixture.ts';
import { lockRentalView, terminateRental } from './termination.service.ts';
import { startRental, stopRental } from './power.service.ts';
import { createRentalHarness, HOUR_MS, MINUTE_MS, quiet, usd, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';
import { retainedDiskMeter } from '../money/terms.ts';

/** Tests the dunning of rentals from the first warning to the deletion of the disk. */

const harness = await createRentalHarness();
afterAll(() => harness.drop());
afterEach(() => expectConsistent(harness));

const never = new AbortController().signal;

async function work(rental: Rental): Promise<void> {
  for (let round = 0; round < 50; round += 1) {
    const { kind } = await reconcileRental(reconcileDepsOf(harness), rental.orgId, rental.id, never);
    if (kind !== 'again') return;
  }
  throw new Error('The rental never became idle.');
}

/** Advances the clock in steps. After each step two concurrent workers execute the required actions. */
async function pass(
  tenant: Tenant,
  rentals: readonly Rental[],
  ms: number,
  everyMs = MINUTE_MS,
): Promise<void> {
  const endMs = harness.clock.nowMs() + ms;
  while (harness.clock.nowMs() < endMs) {
    await harness.clock.advance(Math.min(everyMs, endMs - harness.clock.nowMs()));
    await harness.sweepMeters();
    await Promise.all([1, 2].map(() => executeRequiredActions(harness.db, { log: quiet, limit: 10 })));
    for (const rental of rentals) await work(rental);
    expect((await harness.balance(tenant.orgId)).available).toBeGreaterThanOrEqual(0n);
  }
}

async function walletEvents(tenant: Tenant): Promise<string[]> {
  const events = await harness.rows<{ type: string }>(
    `select type from outbox where org_id = '${toUuid(tenant.orgId)}' and type like 'balance.%' order by seq`,
  );
  return events.map(({ type }) => type);
}

const rowOf = async (rental: Rental): Promise<Rental> => (await viewOf(harness, rental)).rental;

const actorOf = (tenant: Tenant) => tenant.call('live').cause.actor;
const stop = (tenant: Tenant, rental: Rental): Promise<Rental> =>
  harness.run(async (tx) =>
    stopRental(tx, await lockRentalView(tx, tenant.orgId, rental.id), {
      release: true,
      actor: actorOf(tenant),
    }),
  );
const end = (tenant: Tenant, rental: Rental) =>
  harness.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, { reason: 'done', actor: actorOf(tenant) }),
  );

/** Holds the available money, and returns how to release it. */
async function holdRest({ orgId }: Tenant): Promise<() => Promise<unknown>> {
  const { available } = await harness.balance(orgId);
  const base = { orgId, mode: 'live', cause: { kind: 'payment', id: 'rest' } } as const;
  const apply = (command: LedgerCommand) =>
    harness.run(async (tx) => requireLedgerSuccess((await applyLedger(tx, [command]))[0]));
  const amount = nanoUsd(available);
  const { holdId } = await apply({ do: 'hold', ...base, step: 'rest', amount, demand: 'running' });
  if (holdId === null) return expect.fail('The rest of the money was not held.');
  return () => apply({ do: 'close', ...base, step: 'back', holdId });
}

async function passUntilOff(tenant: Tenant, rental: Rental): Promise<Rental> {
  for (let minute = 0; minute < 200; minute += 1) {
    await pass(tenant, [rental], MINUTE_MS);
    const now = await rowOf(rental);
    if (now.power === 'off') return now;
  }
  return expect.fail('The rental was never stopped.');
}

describe(failingLoop('carry out what balances require'), () => {
  it.each<Poison>(['throws', 'times out'])(
    'whose write %s does not block terminations of other organisations',
    async (how) => {
      const [bad, good] = [
        await harness.tenant({ balanceUsd: 140 }),
        await harness.tenant({ balanceUsd: 140 }),
      ];
      const rentals = [
        await startRunningRental(harness, bad),
        await startRunningRental(harness, good),
      ] as const;
      for (const { orgId } of [bad, good]) {
        await harness.rows(
          `update organisations set status = 'suspended', suspended_at = now() where id = '${toUuid(orgId)}'`,
        );
        await harness.run((tx) => runningWork.end(tx, orgId));
      }
      const when = `new.org_id = '${toUuid(bad.orgId)}'`;
      const removeFault = await poisonRows(harness.database, { table: 'rentals', when, how });
      await executeRequiredActions(harness.db, { log: quiet, limit: 10 });
      await removeFault();
      const statusOf = async (rental: Rental): Promise<string> => (await rowOf(rental)).status;
      expect([await statusOf(rentals[0]), await statusOf(rentals[1])]).toEqual(['Running', 'Terminating']);
      await harness.clock.advance(MINUTE_MS);
      await executeRequiredActions(harness.db, { log: quiet, limit: 10 });
      expect(await statusOf(rentals[0])).toBe('Terminating');
      for (const rental of rentals) await reconcileUntil(harness, rental, { until: 'Terminated' });
    },
  );
});

describe('dunning', () => {
  it('warns, stops the rental, retains its disk while held money lasts, then deletes it, with one event per level', async () => {
    const tenant = await harness.tenant({ balanceUsd: 140 });
    const rental = await startRunningRental(harness, tenant);
    const [gpu] = await meters(harness, rental);
    expect(gpu?.retentionMs).toBe(72 * HOUR_MS);
    await pass(tenant, [rental], 23 * HOUR_MS, HOUR_MS);
    expect(await walletEvents(tenant)).toEqual(['balance.low']);
    await pass(tenant, [rental], 2 * HOUR_MS, 10 * MINUTE_MS);
    const off = await passUntilOff(tenant, rental);
    expect(off).toMatchObject({
      status: 'Running',
      gpuHeld: false,
      statusReason: 'Stopped because the balance ran out.',
    });
    expect(await walletEvents(tenant)).toEqual([
      'balance.low',
      'balance.low',
      'balance.low',
      'balance.floor',
    ]);
    const retained =
      retainedDiskMeter(await meters(harness, rental)) ?? expect.fail('The disk is not retained.');
    expect(retained.termEndsAt).toEqual(later(retained.openedAt, 72 * HOUR_MS));
    expect(await rentalEventTypes(harness, rental)).toEqual(['pending', 'running', 'expiring']);
    await pass(tenant, [rental], 47 * HOUR_MS, HOUR_MS);
    expect(await rentalEventTypes(harness, rental)).toHaveLength(3);
    await pass(tenant, [rental], 24 * HOUR_MS + 30 * MINUTE_MS, 30 * MINUTE_MS);
    expect(await rentalEventTypes(harness, rental)).toEqual([
      'pending',
      'running',
      'expiring',
      'expiring',
      'expiring',
    ]);
    expect((await rowOf(rental)).status).toBe('Running');
    await pass(tenant, [rental], 2 * HOUR_MS, 30 * MINUTE_MS);
    const over = await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(over.endReason).toContain('The balance ran out');
    expect((await rentalEventTypes(harness, rental)).slice(5)).toEqual(['terminating', 'terminated']);
    expect(await walletEvents(tenant)).toHaveLength(4);
    const all = await meters(harness, rental);
    expect(all.map(({ name }) => name)).toEqual(['gpu', 'disk-1']);
    expect(all[1]?.elapsedBeforeMs).toBe(72 * HOUR_MS);
    const cost = all.reduce((sum, meter) => sum + meteredTotal(meter.ratePerHour, meter.elapsedBeforeMs), 0n);
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(cost);
    const left = usd(140) - cost;
    expect(await harness.balance(tenant.orgId)).toEqual({ balance: left, held: 0n, available: left });
  });

  it('keeps the disk without further events after a top-up, and the rental can be started', async () => {
    const tenant = await harness.tenant({ balanceUsd: 12 });
    const rental = await startRunningRental(harness, tenant);
    await pass(tenant, [rental], HOUR_MS, 10 * MINUTE_MS);
    await passUntilOff(tenant, rental);
    const retained =
      retainedDiskMeter(await meters(harness, rental)) ?? expect.fail('The disk is not retained.');
    await harness.topUp(tenant.orgId, 200);
    const before = await rentalEventTypes(harness, rental);
    await pass(
      tenant,
      [rental],
      later(retained.termEndsAt, HOUR_MS).getTime() - harness.clock.nowMs(),
      30 * MINUTE_MS,
    );
    expect(await rentalEventTypes(harness, rental)).toEqual(before);
    expect(await rowOf(rental)).toMatchObject({ status: 'Running', power: 'off' });
    expect(retainedDiskMeter(await meters(harness, rental))).toBeNull();
    await harness.watch();
    await harness.run(async (tx) =>
      startRental(tx, await lockRentalView(tx, tenant.orgId, rental.id), { actor: actorOf(tenant) }),
    );
    await reconcileUntil(harness, rental, { until: 'Running' });
    expect((await rowOf(rental)).statusReason).toBeNull();
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('stops all running rentals, and retains and deletes the disks of those that were already off', async () => {
    const tenant = await harness.tenant({ balanceUsd: 60 });
    const [first, second, third] = [
      await startRunningRental(harness, tenant),
      await startRunningRental(harness, tenant, { gpuCount: 2 }),
      await startRunningRental(harness, tenant),
    ];
    await stop(tenant, third);
    await reconcileToIdle(harness, third);
    const all = [first, second, third];
    await pass(tenant, all, 2 * HOUR_MS, 10 * MINUTE_MS);
    for (let minute = 0; minute < 200 && (await rowOf(second)).power !== 'off'; minute += 1) {
      await pass(tenant, all, MINUTE_MS);
    }
    await pass(tenant, all, 2 * MINUTE_MS);
    for (const rental of all) {
      expect(await rowOf(rental)).toMatchObject({ power: 'off', gpuHeld: false });
      expect(retainedDiskMeter(await meters(harness, rental)), String(rental.wireId)).not.toBeNull();
    }
    // Otherwise the rest of the money would pay for a disk for less than an hour, which is the time between sweeps here.
    const releaseRest = await holdRest(tenant);
    await pass(tenant, all, 73 * HOUR_MS, HOUR_MS);
    await releaseRest();
    for (const rental of all) await reconcileUntil(harness, rental, { until: 'Terminated' });
    const { balance, held } = await harness.balance(tenant.orgId);
    expect(held).toBe(0n);
    expect(balance).toBeGreaterThanOrEqual(0n);
  });
});

describe('several orders at once', () => {
  it('run on if the balance covers the full retention of any one disk, but not of all', async () => {
    // The retention of a disk costs 34.5 USD, which is less than a quarter of the balance.
    const tenant = await harness.tenant({ balanceUsd: 140 });
    await harness.watch();
    const orders: Rental[] = [];
    for (let nth = 0; nth < 6; nth += 1) orders.push(await harness.rent(tenant, 'live'));
    await Promise.all(orders.map((rental) => reconcileUntil(harness, rental, { until: 'Running' })));
    await pass(tenant, orders, 3 * MINUTE_MS);
    for (const rental of orders) expect(await rowOf(rental)).toMatchObject({ power: 'on', gpuHeld: true });
    expect(await walletEvents(tenant)).not.toContain('balance.floor');
    for (const rental of orders) {
      await end(tenant, rental);
      await reconcileUntil(harness, rental, { until: 'Terminated' });
    }
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
  });
});

describe('exceeded budget', () => {
  it('stops the rental despite a positive balance, and retains its disk with money held from the budget', async () => {
    const tenant = await harness.tenant();
    await harness.run((tx) =>
      createBudget(tx, {
        orgId: tenant.orgId,
        mode: 'live',
        name: 'all',
        keyIds: null,
        limit: usd(50),
        period: 'total',
        thresholdsPercent: [],
        onExceeded: 'stop_everything',
      }),
    );
    const rental = await startRunningRental(harness, tenant);
    await pass(tenant, [rental], 3 * HOUR_MS, 10 * MINUTE_MS);
    const off = await passUntilOff(tenant, rental);
    expect(off).toMatchObject({ gpuHeld: false, statusReason: 'Stopped because the budget ran out.' });
    const retained =
      retainedDiskMeter(await meters(harness, rental)) ?? expect.fail('The disk is not retained.');
    await pass(
      tenant,
      [rental],
      later(retained.termEndsAt, HOUR_MS).getTime() - harness.clock.nowMs(),
      HOUR_MS,
    );
    const over = await reconcileUntil(harness, rental, { until: 'Terminated' });
    expect(over.endReason).toContain('The budget ran out');
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBeLessThanOrEqual(usd(50));
  });
});
