import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { driveUntil, partsOf } from './drive.fixture.ts';
import { terminateRental } from './life.service.ts';
import { driveForsaken, redriveDue } from './redrive.ts';
import { createRentalWorld, type RentalWorld, type Tenant } from './rental.fixture.ts';
import type { Rental } from './rental.ts';
import { findRental } from './rentals.store.ts';

/** Nobody answers the calls of this world: what happens is what the sweeps do. */

let world: RentalWorld;
beforeAll(async () => {
  world = await createRentalWorld();
});
afterAll(() => world.drop());

const never = new AbortController().signal;

const calls = async (rental: Rental): Promise<number> =>
  (
    await world.rows(
      `select 1 from outbox where service = 'Rental' and payload ->> 'rentalId' = '${rental.id}'`,
    )
  ).length;

const end = (tenant: Tenant, rental: Rental) =>
  world.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, { reason: 'done', actor: tenant.call('live').cause.actor }),
  );

describe('a rental that nobody works on', () => {
  it('is called for again once in a while, by one of those who sweep', async () => {
    const tenant = await world.tenant();
    const rental = await world.rent(tenant, 'live');
    expect(await calls(rental)).toBe(1);
    await redriveDue(world.db, 100);
    expect(await calls(rental)).toBe(1);
    await world.advance(21_000);
    await Promise.all(Array.from({ length: 4 }, () => redriveDue(world.db, 100)));
    expect(await calls(rental)).toBe(2);
    await end(tenant, rental);
    await driveUntil(world, rental, { until: 'Terminated' });
  });

  it('is driven by a worker itself when it was called for in vain, and is not touched before', async () => {
    const tenant = await world.tenant();
    const rental = await driveUntil(world, await world.rent(tenant, 'live'), { until: 'Running' });
    await end(tenant, rental);
    const status = async () => (await findRental(world.db, rental.orgId, rental.id))?.status;
    await world.advance(30_000);
    await redriveDue(world.db, 100);
    expect(await driveForsaken(partsOf(world), 10, never)).toBe(0);
    let turns = 0;
    while ((await status()) !== 'Terminated' && turns < 20) {
      turns += 1;
      await world.advance(30_000);
      await redriveDue(world.db, 100);
      await driveForsaken(partsOf(world), 10, never);
    }
    expect(await status()).toBe('Terminated');
    expect(turns).toBeLessThan(10);
    expect(await world.breaks()).toEqual([]);
  });
});
