import { toUuid } from '@millrace/platform/ids';
import { failingLoop, poisonRows, type Poison } from '@millrace/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { reconcileRental } from './reconcile-rental.ts';
import { reconcileUntil, reconcileDepsOf } from './reconcile.fixture.ts';
import { terminateRental } from '../actions/termination.service.ts';
import { createInventoryReconciler } from '../inventory/inventory.fixture.ts';
import { createRentalRecovery, enqueueDueRentals } from './recovery.ts';
import { createRentalHarness, quiet, type Tenant } from '../model/rental.fixture.ts';
import type { Rental } from '../model/rental.ts';
import { listMachines } from '../model/machines.store.ts';
import { findRental } from '../model/rentals.store.ts';

/** No handler runs in this harness, so only the sweeps make progress. */

const harness = await createRentalHarness();
afterAll(() => harness.drop());

const never = new AbortController().signal;

const recovery = () => {
  const { recover } = createRentalRecovery(reconcileDepsOf(harness));
  return () => recover(never);
};

const calls = async (rental: Rental): Promise<number> =>
  (
    await harness.rows(
      `select 1 from outbox where service = 'Rental' and payload ->> 'rentalId' = '${rental.id}'`,
    )
  ).length;

const end = (tenant: Tenant, rental: Rental) =>
  harness.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, { reason: 'done', actor: tenant.call('live').cause.actor }),
  );

/** Terminated and disconnected, so that the rest is not urgent. */
async function cutByHand(tenant: Tenant, rental: Rental): Promise<void> {
  await end(tenant, rental);
  await reconcileRental(reconcileDepsOf(harness), rental.orgId, rental.id, never);
}

describe('rental without a running handler', () => {
  it('is enqueued again after a while by one of the concurrent sweeps', async () => {
    const tenant = await harness.tenant();
    const rental = await harness.rent(tenant, 'live');
    expect(await calls(rental)).toBe(1);
    await enqueueDueRentals(harness.db, 100, { log: quiet });
    expect(await calls(rental)).toBe(1);
    await harness.advance(21_000);
    await Promise.all(Array.from({ length: 4 }, () => enqueueDueRentals(harness.db, 100, { log: quiet })));
    expect(await calls(rental)).toBe(2);
    await end(tenant, rental);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it('is reconciled directly only after its commands had no effect', async () => {
    const tenant = await harness.tenant();
    const rental = await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' });
    const recover = recovery();
    await cutByHand(tenant, rental);
    const status = async () => (await findRental(harness.db, rental.orgId, rental.id))?.status;
    await harness.advance(30_000);
    await enqueueDueRentals(harness.db, 100, { log: quiet });
    expect(await recover()).toBe(0);
    let turns = 0;
    while ((await status()) !== 'Terminated' && turns < 20) {
      turns += 1;
      await harness.advance(30_000);
      await enqueueDueRentals(harness.db, 100, { log: quiet });
      await recover();
    }
    expect(await status()).toBe('Terminated');
    expect(turns).toBeLessThan(10);
    expect(await harness.violations()).toEqual([]);
  });

  describe(failingLoop('call for due rentals'), () => {
    it.each<Poison>(['throws', 'times out'])(
      'whose command %s does not block commands for others',
      async (how) => {
        const [bad, good] = [await harness.tenant(), await harness.tenant()];
        const rentals = [await harness.rent(bad, 'live'), await harness.rent(good, 'live')] as const;
        await harness.advance(21_000);
        const removeFault = await poisonRows(harness.database, {
          table: 'outbox',
          when: `new.org_id = '${toUuid(bad.orgId)}'`,
          how,
        });
        await enqueueDueRentals(harness.db, 100, { log: quiet });
        await removeFault();
        expect([await calls(rentals[0]), await calls(rentals[1])]).toEqual([1, 2]);
        await harness.advance(60_000);
        await enqueueDueRentals(harness.db, 100, { log: quiet });
        expect(await calls(rentals[0])).toBe(2);
        for (const [tenant, rental] of [
          [bad, rentals[0]],
          [good, rentals[1]],
        ] as const) {
          await end(tenant, rental);
          await reconcileUntil(harness, rental, { until: 'Terminated' });
        }
      },
    );
  });

  describe(failingLoop('repair late rentals'), () => {
    it('is enqueued when late although another rental is unreadable', async () => {
      const tenant = await harness.tenant();
      const rentals = [await harness.rent(tenant, 'live'), await harness.rent(tenant, 'live')] as const;
      const late = `deadline_at = '${new Date(harness.clock.nowMs() - 1).toISOString()}'`;
      const client = await harness.database.connect();
      const ids = rentals.map(({ wireId }) => wireId);
      await client.query(`update rentals set ${late} where wire_id = any ($1)`, [ids]);
      await client.query(`update rentals set disk_price = '{"unreadable": true}' where wire_id = $1`, [
        ids[0],
      ]);
      expect(await createInventoryReconciler(harness).repairLate()).toBe(1);
      expect([await calls(rentals[0]), await calls(rentals[1])]).toEqual([1, 2]);
      await client.query(`update rentals set disk_price = null where wire_id = $1`, [ids[0]]);
      await client.end();
      for (const rental of rentals) {
        await end(tenant, rental);
        await reconcileUntil(harness, rental, { until: 'Terminated' });
      }
    });

    it.each<Poison>(['throws', 'times out'])(
      'whose command %s does not block another late rental',
      async (how) => {
        const [bad, good] = [await harness.tenant(), await harness.tenant()];
        const rentals = [await harness.rent(bad, 'live'), await harness.rent(good, 'live')] as const;
        const late = `deadline_at = '${new Date(harness.clock.nowMs() - 1).toISOString()}'`;
        await harness.rows(
          `update rentals set ${late} where wire_id in (${rentals.map(({ wireId }) => wireId).join()})`,
        );
        const when = `new.org_id = '${toUuid(bad.orgId)}'`;
        const removeFault = await poisonRows(harness.database, { table: 'outbox', when, how });
        expect(await createInventoryReconciler(harness).repairLate()).toBe(1);
        await removeFault();
        expect([await calls(rentals[0]), await calls(rentals[1])]).toEqual([1, 2]);
        for (const [tenant, rental] of [
          [bad, rentals[0]],
          [good, rentals[1]],
        ] as const) {
          await end(tenant, rental);
          await reconcileUntil(harness, rental, { until: 'Terminated' });
        }
      },
    );
  });

  it('is disconnected within the promised time although the first try fails', async () => {
    const tenant = await harness.tenant();
    const rental = await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' });
    const recover = recovery();
    const cutAt = async () =>
      (await listMachines(harness.db, rental.orgId, rental.id, 'all')).map((machine) => machine.cutAt)[0] ??
      null;
    const endedAtMs = harness.clock.nowMs();
    await end(tenant, rental);
    const removeFault = await poisonRows(harness.database, { table: 'rental_machines', when: 'true' });
    let attempts = 0;
    for (let second = 0; second < 30 && attempts === 0; second += 1) {
      await harness.advance(1_000);
      attempts += await recover();
    }
    expect(await cutAt()).toBeNull();
    await removeFault();
    for (let second = 0; second < 30 && (await cutAt()) === null; second += 1) {
      await harness.advance(1_000);
      await recover();
    }
    const lateMs = ((await cutAt())?.getTime() ?? Infinity) - endedAtMs;
    expect(lateMs).toBeLessThanOrEqual(5_000);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  describe(failingLoop('recover stuck rentals'), () => {
    it.each<Poison>(['throws', 'times out'])(
      'whose write %s does not delay the disconnection of another rental, and is disconnected when the fault ends',
      async (how) => {
        const tenant = await harness.tenant();
        const [bad, good] = [
          await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' }),
          await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' }),
        ];
        const isCut = async ({ orgId, id }: Rental) =>
          (await listMachines(harness.db, orgId, id, 'all')).every(({ cutAt }) => cutAt !== null);
        const when = `new.rental_id = '${toUuid(bad.id)}'`;
        await end(tenant, bad);
        await end(tenant, good);
        const removeFault = await poisonRows(harness.database, { table: 'rental_machines', when, how });
        const recover = recovery();
        const until = async (rental: Rental, mostSeconds: number) => {
          for (let second = 0; second < mostSeconds && !(await isCut(rental)); second += 1) {
            await harness.advance(1_000);
            await recover();
          }
        };
        await until(good, 10);
        expect([await isCut(bad), await isCut(good)]).toEqual([false, true]);
        await removeFault();
        await until(bad, 60);
        expect(await isCut(bad)).toBe(true);
        for (const rental of [bad, good]) await reconcileUntil(harness, rental, { until: 'Terminated' });
      },
    );

    it('is disconnected within seconds while eight others are unreadable', async () => {
      const tenant = await harness.tenant();
      const broken: Rental[] = [];
      for (let nth = 0; nth < 8; nth += 1) {
        broken.push(await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' }));
      }
      const ninth = await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' });
      const client = await harness.database.connect();
      const ids = broken.map(({ wireId }) => wireId);
      await client.query(
        `update rentals set disk_price = '{"unreadable": true}', next_action_at = $2, deadline_at = $2
          where wire_id = any ($1)`,
        [ids, new Date(harness.clock.nowMs() - 3_600_000)],
      );
      await end(tenant, ninth);
      const workers = [recovery(), recovery()];
      let seconds = 0;
      const isCut = async () =>
        (await listMachines(harness.db, ninth.orgId, ninth.id, 'all')).every(({ cutAt }) => cutAt !== null);
      while (!(await isCut()) && seconds < 60) {
        seconds += 2;
        await harness.advance(2_000);
        await enqueueDueRentals(harness.db, 100, { log: quiet }).catch(() => undefined);
        await Promise.all(workers.map((recover) => recover()));
      }
      expect(seconds).toBeLessThan(10);
      const failing = await harness.rows<{ failures: number }>(
        `select failures from loop_items where loop = 'recover stuck rentals' and failures > 0`,
      );
      expect(failing).toHaveLength(8);
      await client.query(`update rentals set disk_price = null where wire_id = any ($1)`, [ids]);
      await client.end();
    });
  });
});
