import { toUuid } from '@millrace/platform/ids';
import { expect } from 'vitest';
import { findingsOf, runAudit } from '../auditor/index.ts';
import { driveIdle, driveUntil } from './drive.fixture.ts';
import { requireView } from './life.service.ts';
import { metersOf } from './money.service.ts';
import type { RentalBody, RentalWorld, Tenant } from './rental.fixture.ts';
import type { Rental, RentalView } from './rental.ts';
import type { Meter } from '../metering/index.ts';

/** Rentals that live and end on a clock that a test moves, and what the books say of them afterwards. */

export async function bringUp(
  world: RentalWorld,
  tenant: Tenant,
  wish: Partial<RentalBody> = {},
): Promise<Rental> {
  await world.watch();
  return driveUntil(world, await world.rent(tenant, 'live', wish), { until: 'Running' });
}

/** Moves the clock to an instant, and does what is due by then. */
export async function passUntil(world: RentalWorld, rental: Rental, at: Date): Promise<Rental> {
  await world.advance(Math.max(0, at.getTime() - world.clock.nowMs()));
  return driveIdle(world, rental);
}

export const later = (from: Date | null, ms: number): Date =>
  new Date((from ?? expect.fail('It has no such instant.')).getTime() + ms);

export function viewOf(world: RentalWorld, rental: Rental): Promise<RentalView> {
  return world.run((tx) => requireView(tx, rental.orgId, rental.id));
}

export function meters(world: RentalWorld, rental: Rental): Promise<readonly Meter[]> {
  return metersOf(world.db, rental);
}

/** What the tenant was told about the rental, oldest first. */
export async function told(world: RentalWorld, rental: Rental): Promise<string[]> {
  const events = await world.rows<{ type: string }>(
    `select type from outbox where kind = 'event' and resource_kind = 'rental' and resource_id = '${rental.wireId}'
       and org_id = '${toUuid(rental.orgId)}' order by seq`,
  );
  return events.map(({ type }) => type.replace('rental.', ''));
}

/** The books are right by independent arithmetic, nobody bore anything for a tenant, and no GPU is lost or sold twice. */
export async function expectSound(world: RentalWorld): Promise<void> {
  const report = await runAudit(world.db, { kind: 'full', whenBusy: 'unrecorded' });
  if (report === null) throw new Error('Nothing was audited.');
  const found = [...findingsOf(report, 'error'), ...findingsOf(report, 'notice')];
  // The money of these tests was never paid in by anybody.
  expect(found.filter(({ check }) => check !== 'top_up_has_payment')).toEqual([]);
  expect(await world.breaks()).toEqual([]);
}
