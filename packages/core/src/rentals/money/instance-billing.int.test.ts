import { toUuid } from '@millrace/platform/ids';
import { meteredTotal, nanoUsd } from '@millrace/platform/money';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { executeRequiredActions } from '../actions/dunning.service.ts';
import { expectConsistent, later, meters, advanceUntil, viewOf } from '../lifecycle.fixture.ts';
import { terminateRental } from '../actions/termination.service.ts';
import { MARKETPLACE, type InstanceRequest } from '../marketplace.fixture.ts';
import { failRental } from './rental-billing.service.ts';
import { transitionRental } from '../model/rental-transitions.ts';
import { createRentalHarness, HOUR_MS, MINUTE_MS, quiet, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, rentalResourceOf, type Rental, rentalsActor } from '../model/rental.ts';

/** A tenant's payments for an instance equal the supplier's earnings plus the fee, to the nano-USD, for every way to end. */

let before: Balances;
const harness = await createRentalHarness();
afterAll(() => harness.drop());
beforeEach(async () => {
  before = await readBalances();
});
afterEach(() => expectConsistent(harness));

interface Balances {
  readonly supplier: bigint;
  readonly fee: bigint;
  readonly revenue: bigint;
}

async function readBalances(): Promise<Balances> {
  const [row] = await harness.rows<Balances>(
    `select coalesce(sum(balance_nano_usd) filter (where kind = 'supplier_payable'
                       and org_id = '${toUuid(harness.supplierOrgId)}'), 0)::bigint as supplier,
            coalesce(sum(balance_nano_usd) filter (where kind = 'platform_fee'), 0)::bigint as fee,
            coalesce(sum(balance_nano_usd) filter (where kind = 'revenue' and product = 'instance'), 0)::bigint as revenue
       from ledger_accounts`,
  );
  return row ?? expect.fail('The ledger has no accounts.');
}

async function earned(): Promise<Balances> {
  const now = await readBalances();
  return {
    supplier: now.supplier - before.supplier,
    fee: now.fee - before.fee,
    revenue: now.revenue - before.revenue,
  };
}

async function online(tenant: Tenant, request: InstanceRequest = {}): Promise<Rental> {
  await harness.watch();
  return reconcileUntil(harness, await harness.rentInstance(tenant, request), { until: 'Running' });
}

const end = (tenant: Tenant, rental: Rental) =>
  harness.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, {
      reason: 'done',
      actor: tenant.call('live').cause.actor,
    }),
  );

const paid = (rental: Rental): Promise<bigint> => harness.paid(rental.orgId, causeOfRental(rental));

const rateFor = (gpus: number) => nanoUsd(MARKETPLACE.pricePerGpuHour * BigInt(gpus));
const ranMs = (rental: Rental, until: Date): number =>
  until.getTime() - (rental.startedAt ?? expect.fail('The instance never ran.')).getTime();

/** Supplier and tenant each have an exact metered total, and the two parts add up to the tenant's payment. */
async function expectSplit(rental: Rental, cost: bigint, elapsedMs: number): Promise<void> {
  expect(await paid(rental)).toBe(cost);
  const { supplier, fee, revenue } = await earned();
  expect(supplier + fee).toBe(cost);
  expect(revenue).toBe(0n);
  const { ratePerHour } = rental.supplier ?? expect.fail('The instance has no supplier.');
  expect(supplier).toBe(meteredTotal(ratePerHour, elapsedMs));
}

describe('instance billing', () => {
  it.each([1, 3, 8])('splits the payment for %d GPUs into supplier earnings and fee', async (gpuCount) => {
    const tenant = await harness.tenant();
    const rental = await online(tenant, { gpuCount });
    for (const ms of [7 * MINUTE_MS + 1, HOUR_MS + 13, 29 * MINUTE_MS + 777]) {
      await advanceUntil(harness, rental, later(harness.clock.now(), ms));
      await harness.sweepMeters();
    }
    const { billingStoppedAt, finalCost } = await end(tenant, rental);
    const elapsedMs = ranMs(rental, billingStoppedAt ?? expect.fail('The instance was not billed.'));
    expect(finalCost).toBe(meteredTotal(rateFor(gpuCount), elapsedMs));
    await expectSplit(rental, finalCost, elapsedMs);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    await expectSplit(rental, finalCost, elapsedMs);
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
  });

  it('credits time after the last healthy time of a lost host, from supplier and fee', async () => {
    const tenant = await harness.tenant();
    const rental = await online(tenant, { gpuCount: 2 });
    const lastGoodSign = later(rental.startedAt, 11 * MINUTE_MS + 3);
    await advanceUntil(harness, rental, later(rental.startedAt, 2 * HOUR_MS));
    await harness.sweepMeters();
    expect((await earned()).supplier).toBeGreaterThan(0n);
    const view = await viewOf(harness, rental);
    await harness.run(async (tx) => {
      const transition = { to: 'Unknown', reason: null, actor: rentalsActor } as const;
      const changes = { unhealthySince: lastGoodSign };
      const data = { silentSince: lastGoodSign.toISOString() };
      const unknown = await transitionRental(tx, view.rental, { ...transition, changes, data });
      await failRental(tx, { ...view, rental: unknown }, 'The host is lost.', { lastGoodSign });
    });
    const elapsedMs = ranMs(rental, lastGoodSign);
    await expectSplit(rental, meteredTotal(rateFor(2), elapsedMs), elapsedMs);
  });

  it('posts the whole payment as revenue if the operator owns the machine', async () => {
    const tenant = await harness.tenant();
    const rental = await online(tenant, { supplied: false });
    await advanceUntil(harness, rental, later(rental.startedAt, 90 * MINUTE_MS));
    const { finalCost } = await end(tenant, rental);
    expect(finalCost).toBeGreaterThan(0n);
    expect(await earned()).toEqual({ supplier: 0n, fee: 0n, revenue: finalCost });
  });

  it('ends at the TTL even if the expiry is processed late', async () => {
    const tenant = await harness.tenant();
    const rental = await online(tenant, { ttlSeconds: 3 * 3_600 });
    const expiresAt = rental.expiresAt ?? expect.fail('The instance has no expiry.');
    await advanceUntil(harness, rental, later(expiresAt, -30 * MINUTE_MS));
    await advanceUntil(harness, rental, later(expiresAt, 20 * MINUTE_MS));
    const elapsedMs = ranMs(rental, expiresAt);
    await expectSplit(rental, meteredTotal(rateFor(1), elapsedMs), elapsedMs);
    expect(await eventsOf(rental)).toContain('instance.expiring');
  });
});

const eventsOf = async (rental: Rental): Promise<readonly string[]> => {
  const { kind, id } = rentalResourceOf(rental);
  const events = await harness.rows<{ type: string }>(
    `select type from outbox where kind = 'event' and resource_kind = '${kind}' and resource_id = '${id}' order by seq`,
  );
  return events.map(({ type }) => type);
};

describe('instance without balance', () => {
  it('is terminated without disk retention, and its cost is split as usual', async () => {
    const tenant = await harness.tenant({ balanceUsd: 8 });
    let rental = await online(tenant);
    for (let minute = 0; minute < 240 && rental.status === 'Running'; minute += 2) {
      await harness.clock.advance(2 * MINUTE_MS);
      await harness.sweepMeters();
      await executeRequiredActions(harness.db, { log: quiet, limit: 10 });
      rental = (await viewOf(harness, rental)).rental;
    }
    expect(rental.status).toBe('Terminating');
    expect(rental.statusReason).toContain('balance');
    const all = await meters(harness, rental);
    expect(all.map(({ name }) => name)).toEqual(['gpu']);
    const [meter] = all;
    const closedAt = meter?.closedAt ?? expect.fail('The meter is still open.');
    const elapsedMs = ranMs(rental, closedAt);
    await expectSplit(rental, meteredTotal(rateFor(1), elapsedMs), elapsedMs);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    const { balance, held } = await harness.balance(tenant.orgId);
    expect(held).toBe(0n);
    expect(balance).toBeGreaterThanOrEqual(0n);
  });
});
