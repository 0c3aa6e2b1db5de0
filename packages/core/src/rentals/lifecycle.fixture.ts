import { toUuid } from '@millrace/platform/ids';
import { expect } from 'vitest';
import { findingsOf, runAudit } from '../auditor/index.ts';
import { reconcileToIdle, reconcileUntil } from './reconcile/reconcile.fixture.ts';
import { lockRentalView } from './actions/termination.service.ts';
import { metersOf } from './money/rental-billing.service.ts';
import type { RentalBody, RentalHarness, Tenant } from './model/rental.fixture.ts';
import type { Rental, RentalView } from './model/rental.ts';
import type { Meter } from '../metering/index.ts';

/** Helpers for tests that run rentals to their end on a simulated clock and then check ledger and fleet. */

export async function startRunningRental(
  harness: RentalHarness,
  tenant: Tenant,
  request: Partial<RentalBody> = {},
): Promise<Rental> {
  await harness.watch();
  return reconcileUntil(harness, await harness.rent(tenant, 'live', request), { until: 'Running' });
}

/** Advances the clock to `at` and executes all steps that are due by then. */
export async function advanceUntil(harness: RentalHarness, rental: Rental, at: Date): Promise<Rental> {
  await harness.advance(Math.max(0, at.getTime() - harness.clock.nowMs()));
  return reconcileToIdle(harness, rental);
}

export const later = (from: Date | null, ms: number): Date =>
  new Date((from ?? expect.fail('The rental has no such timestamp.')).getTime() + ms);

export function viewOf(harness: RentalHarness, rental: Rental): Promise<RentalView> {
  return harness.run((tx) => lockRentalView(tx, rental.orgId, rental.id));
}

export function meters(harness: RentalHarness, rental: Rental): Promise<readonly Meter[]> {
  return metersOf(harness.db, rental);
}

/** Types of the events that were emitted for the rental, oldest first. */
export async function rentalEventTypes(harness: RentalHarness, rental: Rental): Promise<string[]> {
  const events = await harness.rows<{ type: string }>(
    `select type from outbox where kind = 'event' and resource_kind = 'rental' and resource_id = '${rental.wireId}'
       and org_id = '${toUuid(rental.orgId)}' order by seq`,
  );
  return events.map(({ type }) => type.replace('rental.', ''));
}

/** Checks that the full audit is clean, that no tenant's cost was absorbed, and that no GPU is lost or allocated twice. */
export async function expectConsistent(harness: RentalHarness): Promise<void> {
  const report = await runAudit(harness.db, { kind: 'full', whenBusy: 'unrecorded' });
  if (report === null) throw new Error('The audit did not run.');
  const found = [...findingsOf(report, 'error'), ...findingsOf(report, 'notice')];
  // The balances of these tests have no payments.
  expect(found.filter(({ check }) => check !== 'top_up_has_payment')).toEqual([]);
  expect(await harness.violations()).toEqual([]);
}
