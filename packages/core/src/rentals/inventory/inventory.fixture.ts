import { createIdSource, fromUuid, toUuid, type NodeId } from '@millrace/platform/ids';
import { expect } from 'vitest';
import { isClean, runAudit } from '../../auditor/index.ts';
import { readMeterCost } from '../../metering/index.ts';
import { reconcileUntil, type FaultyDriver } from '../reconcile/reconcile.fixture.ts';
import { terminateRental } from '../actions/termination.service.ts';
import {
  GPU_HOUR,
  quiet,
  type RentalBody,
  type RentalHarness,
  type Tenant,
} from '../model/rental.fixture.ts';
import type { InventoryPolicy, Repair } from './plan-repairs.ts';
import { causeOfRental, type Rental, type RentalState, rentalsActor } from '../model/rental.ts';
import {
  InventoryReconciler,
  type ComparisonReport,
  type InventoryReconcilerDeps,
} from './inventory-reconciler.ts';
import { findRental } from '../model/rentals.store.ts';

/** Helpers for tests of comparisons and repairs, with injected engine faults and a simulated clock. */

/** The product's interval, and the longest interval that does not count as a gap, for tests that advance far. */
export const SHORT_INTERVAL_MS = 10_000;
export const LONG_INTERVAL_MS = 20_000;

export function createInventoryReconciler(
  harness: RentalHarness,
  options: {
    readonly holder?: string;
    readonly faultyDriver?: FaultyDriver;
    readonly policy?: Partial<InventoryPolicy>;
    readonly drivers?: RentalHarness['drivers'];
    readonly mayRemove?: InventoryReconcilerDeps['mayRemove'];
    readonly mayHaveLostRow?: InventoryReconcilerDeps['mayHaveLostRow'];
  } = {},
): InventoryReconciler {
  const { faultyDriver, mayRemove, mayHaveLostRow } = options;
  return new InventoryReconciler({
    db: faultyDriver?.db ?? harness.db,
    clock: harness.clock,
    log: quiet,
    holder: options.holder ?? 'one',
    drivers: options.drivers ?? faultyDriver?.drivers ?? harness.drivers,
    ...(options.policy === undefined ? {} : { policy: options.policy }),
    ...(mayRemove === undefined ? {} : { mayRemove }),
    ...(mayHaveLostRow === undefined ? {} : { mayHaveLostRow }),
  });
}

/** Runs all comparisons that are due. */
export async function compareAll(reconciler: InventoryReconciler): Promise<readonly ComparisonReport[]> {
  const reports: ComparisonReport[] = [];
  for (;;) {
    const report = await reconciler.compareNext();
    if (report === null) return reports;
    reports.push(report);
    await reconciler.orphansSettled();
  }
}

/** Advances the clock while the fleet's observer polls and the reconciler compares. */
export async function advanceComparing(
  harness: RentalHarness,
  reconciler: InventoryReconciler,
  ms: number,
  stepMs = SHORT_INTERVAL_MS,
): Promise<readonly Repair[]> {
  const repairs: Repair[] = [];
  for (let passed = 0; passed < ms; passed += stepMs) {
    await harness.advance(Math.min(stepMs, ms - passed));
    repairs.push(...(await compareAll(reconciler)).flatMap((report) => report.repairs));
  }
  return repairs;
}

/** A Running rental, optionally with engine labels that only test mode accepts as tags. */
export async function runningRental(
  harness: RentalHarness,
  tenant: Tenant,
  options: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly body?: Partial<RentalBody>;
  } = {},
): Promise<Rental> {
  const accepted = await harness.rent(tenant, 'live', options.body ?? {});
  if (options.labels !== undefined) {
    await harness.database.query('update rentals set labels = $1 where wire_id = $2', [
      options.labels,
      accepted.wireId,
    ]);
  }
  return reconcileUntil(harness, accepted, { until: 'Running' });
}

export async function readRental(harness: RentalHarness, rental: Rental): Promise<Rental> {
  return (await findRental(harness.db, rental.orgId, rental.id)) ?? expect.fail('The rental does not exist.');
}

/** Cost of one GPU for `ms`, rounded down once. */
export function costOf(ms: number): bigint {
  return (GPU_HOUR * BigInt(ms)) / 3_600_000n;
}

/** Cost until now, posted or not. */
export async function costBy(harness: RentalHarness, rental: Rental): Promise<bigint> {
  const now = harness.clock.now();
  return (await readMeterCost(harness.db, rental.orgId, rental.mode, causeOfRental(rental), now)).cost;
}

export async function statusesOf(harness: RentalHarness, rental: Rental): Promise<readonly RentalState[]> {
  const rows = await harness.rows<{ to_status: RentalState }>(
    `select to_status from rental_transitions where rental_id =
       (select id from rentals where wire_id = ${rental.wireId}) order by seq`,
  );
  return rows.map((row) => row.to_status);
}

export async function eventsOf(harness: RentalHarness, rental: Rental): Promise<readonly string[]> {
  const rows = await harness.rows<{ type: string }>(
    `select type from outbox where kind = 'event' and resource_id = '${rental.wireId}' and type like 'rental.%'
      order by id`,
  );
  return rows.map((row) => row.type);
}

/** Checks that the full audit is clean and that the fleet's rows are consistent. */
export async function expectConsistentInventory(harness: RentalHarness): Promise<void> {
  await harness.sweepMeters();
  const report = await runAudit(harness.db, { kind: 'full' });
  const drift = (report?.outcomes ?? []).filter(
    // The balances of tenants in tests have no payments.
    (outcome) => outcome.check !== 'top_up_has_payment' && !isClean([outcome]),
  );
  expect(drift).toEqual([]);
  expect(await harness.violations()).toEqual([]);
}

/** Terminates all rentals and heals all engines, so that each test starts from the same state. */
export async function terminateAll(harness: RentalHarness): Promise<void> {
  for (const { controls } of Object.values(harness.engines)) controls.heal();
  await harness.watch();
  const left = await harness.rows<{ id: string; org_id: string }>(
    `select id, org_id from rentals where status <> 'Terminated' order by id`,
  );
  for (const { id, org_id: org } of left) {
    const [orgId, rentalId] = [fromUuid('org', org), fromUuid('rnt', id)];
    const rental = await findRental(harness.db, orgId, rentalId);
    if (rental === null) continue;
    if (rental.status !== 'Failed' && rental.status !== 'Terminating') {
      await harness.run((tx) =>
        terminateRental(tx, orgId, rentalId, { reason: 'over', actor: rentalsActor }),
      );
    }
    await reconcileUntil(harness, rental, { until: 'Terminated', rounds: 2_000 });
  }
  const never = new AbortController().signal;
  for (const { driver } of Object.values(harness.engines)) {
    for (const machine of (await driver.listOwned(never)).machines) await driver.terminate(machine, never);
  }
}

export async function createMaintenanceWindow(
  harness: RentalHarness,
  nodeId: NodeId,
  { startsAt, endsAt }: { readonly startsAt: Date; readonly endsAt: Date },
): Promise<void> {
  const client = await harness.database.connect();
  await client.query(
    `with announced as (
       insert into maintenance_windows (id, summary, status, drains_at, starts_at, ends_at, created_at)
       values ($4, 'New power supplies', 'announced', $1, $1, $2, $1) returning id)
     insert into maintenance_nodes (window_id, node_id) select id, $3 from announced`,
    [startsAt, endsAt, toUuid(nodeId), createIdSource({ clock: harness.clock, cell: 1 }).nextUuid()],
  );
  await client.end();
}
