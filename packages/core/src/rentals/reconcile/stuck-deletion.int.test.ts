import { DriverError } from '@millrace/compute';
import { fromUuid } from '@millrace/platform/ids';
import { countStatements } from '@millrace/testing';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { findNode } from '../../fleet/index.ts';
import { reconcileRental, reconcileUntilIdle } from './reconcile-rental.ts';
import { reconcileUntil, reconcileDepsOf } from './reconcile.fixture.ts';
import { terminateRental } from '../actions/termination.service.ts';
import { listMachines } from '../model/machines.store.ts';
import { compareAll, createInventoryReconciler } from '../inventory/inventory.fixture.ts';
import { enqueueDueRentals } from './recovery.ts';
import {
  createRentalHarness,
  DAY_MS,
  MINUTE_MS,
  quiet,
  SECOND_MS,
  type RentalHarness,
  type Tenant,
} from '../model/rental.fixture.ts';
import type { Rental } from '../model/rental.ts';
import { findRental } from '../model/rentals.store.ts';

/** Tests deletions whose engine does not respond, with sweep and handlers on a simulated clock. */

const harness = await createRentalHarness({ lookEveryMs: DAY_MS });
afterAll(() => harness.drop());
afterEach(async () => {
  expect(await harness.violations()).toEqual([]);
});

const never = new AbortController().signal;

interface Work {
  rounds: number;
  sleeps: number;
  statements: number;
}

/** Runs the sweep every `stepMs`, and one handler for each command, for `forMs` of simulated time. */
async function work(forMs: number, stepMs = 5 * SECOND_MS, deps = reconcileDepsOf(harness)): Promise<Work> {
  const done: Work = { rounds: 0, sleeps: 0, statements: 0 };
  const untilMs = harness.clock.nowMs() + forMs;
  const handler = (orgId: Rental['orgId'], id: Rental['id']): Promise<string> =>
    reconcileUntilIdle({
      round: async () => {
        done.rounds += 1;
        return reconcileRental(deps, orgId, id, never);
      },
      sleep: async (ms) => {
        if (harness.clock.nowMs() >= untilMs) throw new Error('The measurement has ended.');
        done.sleeps += 1;
        await harness.clock.advance(ms);
      },
    });
  while (harness.clock.nowMs() < untilMs) {
    await harness.clock.advance(stepMs);
    await enqueueDueRentals(harness.db, 100, { log: quiet });
    const called = await harness.rows<{ rental_id: string; org_id: string }>(
      `with taken as (delete from outbox where kind = 'command' and service = 'Rental' returning object_key, org_id)
       select distinct object_key as rental_id, org_id from taken`,
    );
    for (const { rental_id: id, org_id: orgId } of called) {
      done.statements += await countStatements(() =>
        handler(fromUuid('org', orgId), fromUuid('rnt', id)).catch(() => undefined),
      );
    }
  }
  return done;
}

/** Polls like the fleet's observer, until the engine counts as silent. */
async function watchFor(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10 * SECOND_MS) {
    await harness.clock.advance(10 * SECOND_MS);
    await harness.watch();
  }
}

const end = (tenant: Tenant, rental: Rental) =>
  harness.run((tx) =>
    terminateRental(tx, tenant.orgId, rental.id, { reason: 'done', actor: tenant.call('live').cause.actor }),
  );

/** Engines that refuse deletions while reconciling is paused, as in a worker. */
function heldDeps() {
  const held = { is: true, until: null as Date | null };
  const refuse = async (): Promise<never> => {
    throw new DriverError('unavailable', 'The database was restored.');
  };
  const drivers: RentalHarness['drivers'] = async (clusterId) => {
    const driver = await harness.drivers(clusterId);
    return new Proxy(driver, {
      get(target, name) {
        if (held.is && (name === 'cutAccess' || name === 'terminate')) return refuse;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  };
  const hold = { isHeld: () => held.is, heldUntil: () => held.until };
  return { held, deps: reconcileDepsOf(harness, { drivers, hold }) };
}

const statusOf = async (rental: Rental) => (await findRental(harness.db, rental.orgId, rental.id))?.status;

describe('deletion on an unreachable cluster', () => {
  it('costs few statements per minute, calls no engine, and resumes when the cluster responds', async () => {
    const tenant = await harness.tenant();
    const rental = await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' });
    const reconciler = createInventoryReconciler(harness);
    await compareAll(reconciler);
    const { controls } = harness.engines.live;
    controls.silenceEngine();
    await watchFor(2 * MINUTE_MS);
    await compareAll(reconciler);
    await end(tenant, rental);
    await work(15 * MINUTE_MS);
    const steady = await work(20 * MINUTE_MS);
    expect(steady.sleeps).toBe(0);
    expect(steady.rounds).toBeLessThanOrEqual(10);
    expect(steady.statements).toBeLessThanOrEqual(5 * 20);
    expect(await statusOf(rental)).toBe('Terminating');

    controls.heal();
    await watchFor(10 * SECOND_MS);
    await compareAll(reconciler);
    await work(20 * SECOND_MS, SECOND_MS);
    expect(await statusOf(rental)).toBe('Terminated');
  });
});

describe('deletion that the engine refuses', () => {
  it('is retried with a backoff of up to ten minutes', async () => {
    const tenant = await harness.tenant();
    await harness.watch();
    const tags = { 'millrace.fault': 'stuck-terminate', 'millrace.fault.for_ms': String(DAY_MS) };
    const rental = await reconcileUntil(harness, await harness.rent(tenant, 'test', { tags }), {
      until: 'Running',
    });
    await harness.run((tx) =>
      terminateRental(tx, tenant.orgId, rental.id, {
        reason: 'done',
        actor: tenant.call('test').cause.actor,
      }),
    );
    await work(30 * MINUTE_MS);
    const steady = await work(20 * MINUTE_MS);
    expect(steady.sleeps).toBe(0);
    expect(steady.rounds).toBeLessThanOrEqual(10);
    const [machine] = await listMachines(harness.db, rental.orgId, rental.id);
    expect(machine?.cutAt).not.toBeNull();
    expect(machine?.lastError).not.toBeNull();
    await harness.clock.advance(DAY_MS);
    await harness.watch();
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });
});

describe('deletion while reconciling is paused', () => {
  it('counts as neither tried nor late, and does not quarantine the node afterwards', async () => {
    const tenant = await harness.tenant();
    const rental = await reconcileUntil(harness, await harness.rent(tenant, 'live'), { until: 'Running' });
    const { held, deps } = heldDeps();
    const machine = async () => {
      const [found] = await listMachines(harness.db, rental.orgId, rental.id, 'all');
      return found ?? expect.fail('The rental has no machine.');
    };
    const nodeStatus = async () => (await findNode(harness.db, (await machine()).nodeId))?.status;
    await end(tenant, rental);
    await work(30 * MINUTE_MS, 15 * SECOND_MS, deps);
    expect(await machine()).toMatchObject({ tries: 0, lastError: null });
    expect(await nodeStatus()).toBe('node_ready');

    held.is = false;
    held.until = harness.clock.now();
    const { controls } = harness.engines.live;
    controls.silenceEngine();
    await work(MINUTE_MS, SECOND_MS, deps);
    expect((await machine()).tries).toBeGreaterThan(0);
    expect(await nodeStatus()).toBe('node_ready');
    controls.heal();
    await work(5 * MINUTE_MS, 5 * SECOND_MS, deps);
    expect(await statusOf(rental)).toBe('Terminated');
  });
});
