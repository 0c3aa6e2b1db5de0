import { createIncusDriver } from '@millrace/compute/incus';
import type { ComputeDriver } from '@millrace/compute';
import { systemClock } from '@millrace/platform/clock';
import {
  createFailures,
  makeCertificate,
  startHostileIncus,
  unusableResponseKinds,
  type HostileIncus,
  type Misbehaviour,
  type TestCertificate,
} from '@millrace/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { reconcileUntil, withDriver } from './reconcile.fixture.ts';
import { listMachines } from '../model/machines.store.ts';
import { compareAll, createInventoryReconciler } from '../inventory/inventory.fixture.ts';
import type { ComparisonReport } from '../inventory/inventory-reconciler.ts';
import { createRentalHarness, quiet, type RentalHarness, type Tenant } from '../model/rental.fixture.ts';
import { causeOfRental, type Rental } from '../model/rental.ts';

/** Instances on a double of a faulty Incus daemon, with the real driver and ledger. */

let own: TestCertificate;
let harness: RentalHarness;
let tenant: Tenant;
let daemon: HostileIncus;
let driver: ComputeDriver;

beforeAll(async () => {
  own = await makeCertificate('millrace');
  harness = await createRentalHarness({ portListeners: false });
});
afterAll(() => harness.drop());

/** Rents an instance whose host is the double. */
async function rentOnDouble(): Promise<Rental> {
  await harness.watch();
  const rental = await harness.rentInstance(tenant);
  const [machine] = await listMachines(harness.db, rental.orgId, rental.id, 'all');
  daemon = await startHostileIncus({ name: machine?.nodeName ?? expect.fail('The rental has no machine.') });
  daemon.trust(own.fingerprint);
  driver = createIncusDriver({
    ...daemon.settingsFor(own),
    clock: systemClock,
    log: quiet,
  });
  return rental;
}

beforeEach(async () => {
  tenant = await harness.tenant();
});
afterEach(async () => {
  await driver.close();
  await daemon[Symbol.asyncDispose]();
  expect(await harness.violations()).toEqual([]);
});

/** A faulty response must not block a call for longer. */
const CALL_MS = 400;
/** Transient failures are tried a few times within the attempt. */
const policy = { firstRetryMs: 60_000, maxRetryMs: 120_000 };

/** Timeouts of calls use real time; deadlines of rentals use the simulated clock. */
function throughDouble(): RentalHarness {
  const bounded = new Proxy(driver, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        const signals = args.filter((arg) => arg instanceof AbortSignal);
        const others = args.filter((arg) => !(arg instanceof AbortSignal));
        const signal = AbortSignal.any([...signals, AbortSignal.timeout(CALL_MS)]);
        return (value as (...given: unknown[]) => unknown).apply(target, [...others, signal]);
      };
    },
  });
  return {
    ...harness,
    drivers: (clusterId) =>
      clusterId === harness.engines.market.clusterId ? Promise.resolve(bounded) : harness.drivers(clusterId),
  };
}

const ways: readonly (readonly [string, Misbehaviour])[] = [
  ...Object.entries<Misbehaviour>(createFailures),
  ...Object.entries<Misbehaviour>(unusableResponseKinds).map(
    ([name, flaw]) => [`responds with ${name}`, flaw] as const,
  ),
];

describe.each(ways)('instance on a daemon that %s', (_, flaw) => {
  it('is not billed, and its machine is deleted when the daemon recovers', async () => {
    const rental = await rentOnDouble();
    daemon.misbehaviour = flaw;
    const doubled = throughDouble();
    const failed = await reconcileUntil(doubled, rental, { until: 'Failed', policy, rounds: 3_000 });
    expect(failed.startedAt).toBeNull();
    await harness.sweepMeters();
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(0n);
    expect((await harness.balance(tenant.orgId)).held).toBe(0n);
    const sold = () =>
      harness.rows<{ live: number }>(
        `select count(*)::int as live from allocations where state <> 'released' and external_id in
           (select id from rentals where wire_id = ${rental.wireId})`,
      );
    // GPUs are not sold again until the deletion is confirmed.
    expect(await sold()).toEqual([{ live: 1 }]);
    daemon.misbehaviour = null;
    await daemon.comeBack();
    await reconcileUntil(throughDouble(), failed, { until: 'Terminated', policy, rounds: 3_000 });
    expect(await sold()).toEqual([{ live: 0 }]);
    expect(daemon.fake.instances.size).toBe(0);
    expect(await harness.paid(tenant.orgId, causeOfRental(rental))).toBe(0n);
  });
});

it('an unresponsive supplier host delays a comparison by seconds, not minutes', async () => {
  await rentOnDouble();
  await harness.database.query(
    'update clusters set supplier_org_id = (select id from organisations limit 1) where name = $1',
    ['market'],
  );
  const silent = withDriver(harness, () => ({
    listOwned: (signal: AbortSignal) =>
      new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new Error('late')))),
  }));
  const { market } = harness.engines;
  const reconciler = createInventoryReconciler(harness, {
    drivers: (id) => (id === market.clusterId ? silent : harness).drivers(id),
  });
  await harness.advance(60_000);
  let reports: readonly ComparisonReport[] | null = null;
  void compareAll(reconciler).then((done) => (reports = done));
  const startedMs = harness.clock.nowMs();
  while (reports === null && harness.clock.nowMs() - startedMs < 60_000) {
    await systemClock.sleep(20);
    await harness.clock.advance(100);
  }
  expect(reports).toContainEqual(
    expect.objectContaining({ clusterId: market.clusterId, outcome: 'unanswered' }),
  );
  expect(harness.clock.nowMs() - startedMs).toBeLessThan(15_000);
});
