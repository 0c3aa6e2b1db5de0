import { toUuid } from '@millrace/platform/ids';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { reconcileUntil } from '../reconcile/reconcile.fixture.ts';
import { executeRequiredActions, runningWork } from './dunning.service.ts';
import { startRunningRental, expectConsistent, viewOf } from '../lifecycle.fixture.ts';
import { kinds, rentAs } from '../marketplace.fixture.ts';
import { createRentalHarness, DAY_MS, HOUR_MS, quiet, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';

/** Tests the termination of rentals when their organisation is suspended. */

const harness = await createRentalHarness();
afterAll(() => harness.drop());
afterEach(() => expectConsistent(harness));

const setStatus = ({ orgId }: Tenant, status: 'suspended' | 'active') =>
  harness.rows(
    `update organisations set status = '${status}',
            suspended_reason = ${status === 'suspended' ? "'abuse'" : 'null'},
            suspended_at = ${status === 'suspended' ? 'now()' : 'null'}
      where id = '${toUuid(orgId)}'`,
  );

async function suspend(tenant: Tenant): Promise<number> {
  await setStatus(tenant, 'suspended');
  return harness.run((tx) => runningWork.end(tx, tenant.orgId));
}

/** Two concurrent workers. */
const sweep = () =>
  Promise.all([1, 2].map(() => executeRequiredActions(harness.db, { log: quiet, limit: 20 })));

const rowOf = async (rental: Rental): Promise<Rental> => (await viewOf(harness, rental)).rental;

const reason = 'The operator suspended the organisation.';

describe('suspension with running work', () => {
  it('terminates rentals of every kind, also Pending ones and those in test mode', async () => {
    const tenant = await harness.tenant();
    const up: Rental[] = [];
    for (const { kind } of kinds) {
      up.push(await reconcileUntil(harness, await rentAs(harness, kind, tenant), { until: 'Running' }));
    }
    const pending = await harness.rent(tenant, 'live');
    const test = await harness.rent(tenant, 'test');
    const all = [...up, pending, test];
    await harness.advance(HOUR_MS);

    expect(await suspend(tenant)).toBe(all.length);
    expect(await harness.run((tx) => runningWork.end(tx, tenant.orgId)), 'requested again').toBe(0);
    await sweep();

    for (const rental of all) {
      expect(await rowOf(rental)).toMatchObject({ status: 'Terminating', endReason: reason });
      await reconcileUntil(harness, rental, { until: 'Terminated' });
    }
    expect(await harness.paid(tenant.orgId, causeOfRental(pending))).toBe(0n);
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
    expect(await harness.run((tx) => runningWork.end(tx, tenant.orgId)), 'after all have ended').toBe(0);
  });

  it('waives the remaining term', async () => {
    await harness.offerTerm(30);
    const tenant = await harness.tenant({ balanceUsd: 10_000 });
    const rental = await startRunningRental(harness, tenant, {
      termType: 'reserved',
      termPeriodDays: 30,
      convertToOnDemandOnExpiry: false,
    });
    await harness.advance(DAY_MS);
    await suspend(tenant);
    await sweep();
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    const paid = await harness.paid(tenant.orgId, causeOfRental(rental));
    await harness.advance(40 * DAY_MS);
    await harness.sweepMeters();
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(paid);
    const { balance, held, available } = await harness.balance(tenant.orgId);
    expect({ held, available }).toEqual({ held: 0n, available: balance });
  });

  it('terminates nothing if the suspension is lifted before the sweep', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant);
    await suspend(tenant);
    await setStatus(tenant, 'active');
    await sweep();
    expect(await rowOf(rental)).toMatchObject({ status: 'Running', power: 'on' });
  });

  it('terminates nothing under a later suspension without running work', async () => {
    const tenant = await harness.tenant();
    const rental = await startRunningRental(harness, tenant);
    await suspend(tenant);
    await setStatus(tenant, 'active');
    await harness.run((tx) => runningWork.callOff(tx, tenant.orgId));
    await setStatus(tenant, 'suspended');
    await sweep();
    expect(await rowOf(rental)).toMatchObject({ status: 'Running', power: 'on' });
    expect(await suspend(tenant), 'suspended again').toBe(1);
    await sweep();
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('does not affect other organisations', async () => {
    const [guilty, other] = [await harness.tenant(), await harness.tenant()];
    const rentals = [
      await startRunningRental(harness, guilty),
      await startRunningRental(harness, other),
    ] as const;
    expect(await suspend(guilty)).toBe(1);
    await sweep();
    expect(await rowOf(rentals[1])).toMatchObject({ status: 'Running' });
    expect(await rowOf(rentals[0])).toMatchObject({ status: 'Terminating' });
    await reconcileUntil(harness, rentals[0], { until: 'Terminated' });
  });
});
