import type { ComputeDriver, MachineSpec } from '@millrace/compute';
import type { OrgId } from '@millrace/platform/ids';
import { createIdSource } from '@millrace/platform/ids';
import { testClock } from '@millrace/testing';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listNodes, transitionNode } from '../../fleet/index.ts';
import { mayHaveLostRow } from '../../restore/index.ts';
import { createFaultyDriver, reconcileUntil, type InjectedFault } from '../reconcile/reconcile.fixture.ts';
import { listMachines } from '../model/machines.store.ts';
import {
  terminateAll,
  compareAll,
  costBy,
  costOf,
  readRental,
  expectConsistentInventory,
  advanceComparing,
  createInventoryReconciler,
  runningRental,
  LONG_INTERVAL_MS,
  statusesOf,
} from './inventory.fixture.ts';
import { createRentalHarness, MINUTE_MS, SECOND_MS, type Tenant } from '../model/rental.fixture.ts';
import { type Rental, rentalsActor } from '../model/rental.ts';
import { allowOrphanRemoval } from './comparisons.store.ts';

let tenant: Tenant;
const harness = await createRentalHarness({ lookEveryMs: 0 });
afterAll(() => harness.drop());
beforeEach(async () => {
  tenant = await harness.tenant();
  await advanceComparing(harness, createInventoryReconciler(harness), 10 * SECOND_MS);
});
afterEach(async () => {
  await expectConsistentInventory(harness);
  await terminateAll(harness);
});

const never = new AbortController().signal;
const ids = createIdSource({ clock: testClock(), cell: 1 });

const nodeNameOf = async (rental: Rental): Promise<string> => {
  const [machine] = await listMachines(harness.db, rental.orgId, rental.id, 'all');
  return machine?.nodeName ?? expect.fail('The rental has no machine.');
};

/** A machine without a row. */
async function makeOrphan(orgId: OrgId, index = 0): Promise<string> {
  const externalId = ids.nextUuid();
  const spec: MachineSpec = {
    externalId,
    orgId,
    mode: 'live',
    nodeName: 'node-4',
    gpuPciAddresses: [],
    cpuCount: 1,
    ramMb: 1_024,
    diskGb: 10,
    image: 'ubuntu-24.04',
    hostname: 'stray',
    sshKeys: [],
    userData: null,
    ports: [{ internalPort: 22, externalPort: 29_000 + index, protocol: 'tcp' }],
    labels: {},
  };
  await harness.engines.live.driver.create(spec, never);
  return externalId;
}

const ownedIds = async (): Promise<readonly string[]> =>
  (await harness.engines.live.driver.listOwned(never)).machines.map(({ externalId }) => externalId);

async function resumeNode(name: string): Promise<void> {
  const { clusterId } = harness.engines.live;
  await harness.run(async (tx) => {
    const [node] = await listNodes(tx, { clusterId, name }, { limit: 1, after: null });
    if (node === undefined) expect.fail(`Node ${name} does not exist.`);
    await transitionNode(tx, node.id, 'node_ready', {
      reason: 'The machine was deleted.',
      actor: rentalsActor,
    });
  });
}

const orphanRows = () => harness.rows<{ external_id: string }>('select external_id from stray_machines');

describe('orphaned machine', () => {
  it('is removed after two comparisons a minute apart, and no rental is affected', async () => {
    const rental = await runningRental(harness, tenant);
    const orphan = await makeOrphan(tenant.orgId);
    const reconciler = createInventoryReconciler(harness);
    await advanceComparing(harness, reconciler, 60 * SECOND_MS);
    expect(await ownedIds()).toContain(orphan);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await ownedIds()).not.toContain(orphan);
    expect(await orphanRows()).toHaveLength(1);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await orphanRows()).toEqual([]);
    expect((await readRental(harness, rental)).status).toBe('Running');
  });

  it('may belong to an unknown organisation', async () => {
    await makeOrphan(ids.next('org'));
    await advanceComparing(harness, createInventoryReconciler(harness), 80 * SECOND_MS);
    expect(await ownedIds()).toEqual([]);
  });

  it('is removed if it returns after its rental has ended', async () => {
    const rental = await runningRental(harness, tenant);
    const reconciler = createInventoryReconciler(harness);
    harness.engines.live.controls.removeNode(await nodeNameOf(rental));
    await advanceComparing(harness, reconciler, 20 * SECOND_MS);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
    harness.engines.live.controls.heal();
    expect(await ownedIds()).toHaveLength(1);
    await advanceComparing(harness, reconciler, 80 * SECOND_MS);
    expect(await ownedIds()).toEqual([]);
  });

  it('is kept together with many others until an operator approves the removal', async () => {
    for (let index = 0; index < 6; index += 1) await makeOrphan(tenant.orgId, index);
    const reconciler = createInventoryReconciler(harness);
    await advanceComparing(harness, reconciler, 3 * MINUTE_MS, LONG_INTERVAL_MS);
    expect(await ownedIds()).toHaveLength(6);
    const until = new Date(harness.clock.nowMs() + MINUTE_MS);
    await harness.run((tx) => allowOrphanRemoval(tx, harness.engines.live.clusterId, until));
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await ownedIds()).toHaveLength(1);
    await advanceComparing(harness, reconciler, 10 * SECOND_MS);
    expect(await ownedIds()).toEqual([]);
  });

  it('from the lost period of a restore is kept until an operator approves, and its node is quarantined', async () => {
    const from = harness.clock.now();
    const orphan = await makeOrphan(tenant.orgId);
    await harness.advance(30 * MINUTE_MS);
    // The restore is confirmed while the cluster is unreachable, so the machine is first seen afterwards.
    const lost = { from, until: harness.clock.now() };
    await harness.advance(30 * MINUTE_MS);
    const reconciler = createInventoryReconciler(harness, {
      mayHaveLostRow: (machine) => mayHaveLostRow(lost, machine),
    });
    await advanceComparing(harness, reconciler, 3 * MINUTE_MS, LONG_INTERVAL_MS);
    expect(await ownedIds()).toEqual([orphan]);
    const { clusterId } = harness.engines.live;
    const nodes = await listNodes(harness.db, { clusterId, name: 'node-4' }, { limit: 1, after: null });
    expect(nodes.map(({ status }) => status)).toEqual(['node_quarantined']);
    const until = new Date(harness.clock.nowMs() + MINUTE_MS);
    await harness.run((tx) => allowOrphanRemoval(tx, harness.engines.live.clusterId, until));
    await advanceComparing(harness, reconciler, 20 * SECOND_MS);
    expect(await ownedIds()).toEqual([]);
    await resumeNode('node-4');
  });

  it('is neither tried nor late while the database might not be the newest state', async () => {
    await makeOrphan(tenant.orgId);
    let isOpen = false;
    const reconciler = createInventoryReconciler(harness, { mayRemove: () => isOpen });
    const until = new Date(harness.clock.nowMs() + 30 * MINUTE_MS);
    await harness.run((tx) => allowOrphanRemoval(tx, harness.engines.live.clusterId, until));
    await advanceComparing(harness, reconciler, 3 * MINUTE_MS, LONG_INTERVAL_MS);
    expect(await ownedIds()).toHaveLength(1);
    expect(await harness.rows('select reap_begun_at from stray_machines')).toEqual([{ reap_begun_at: null }]);
    isOpen = true;
    await advanceComparing(harness, reconciler, 20 * SECOND_MS);
    expect(await ownedIds()).toEqual([]);
  });

  it('is tried again if its removal fails', async () => {
    await makeOrphan(tenant.orgId);
    const faultyDriver = createFaultyDriver(harness);
    const reconciler = createInventoryReconciler(harness, { faultyDriver });
    faultyDriver.plan({ at: 'terminate', when: 'before', times: 2 });
    await advanceComparing(harness, reconciler, 80 * SECOND_MS);
    expect(await ownedIds()).toHaveLength(1);
    await advanceComparing(harness, reconciler, 20 * SECOND_MS);
    expect([await ownedIds(), faultyDriver.spent()]).toEqual([[], true]);
  });
});

/** Crashes of the process before or after the named step, once. */
const deaths: readonly InjectedFault[] = (
  ['claim comparison', 'repair rental', 'end comparison', 'listOwned', 'describe'] as const
).flatMap((at) => [
  { at, when: 'before' },
  { at, when: 'after' },
]);

describe('crash of a comparing process', () => {
  it.each(deaths)('$when $at: a deleted machine is still detected', async (sabotage) => {
    const rental = await runningRental(harness, tenant);
    const faultyDriver = createFaultyDriver(harness);
    const reconciler = createInventoryReconciler(harness, { faultyDriver });
    await advanceComparing(harness, reconciler, 20 * SECOND_MS);
    const billed = await costBy(harness, rental);
    harness.engines.live.controls.removeNode(await nodeNameOf(rental));
    faultyDriver.plan(sabotage);
    await harness.advance(10 * SECOND_MS);
    // The process crashed, so its lease must expire.
    await compareAll(reconciler).catch(() => harness.clock.advance(61 * SECOND_MS));
    await advanceComparing(
      harness,
      createInventoryReconciler(harness, { holder: 'another' }),
      30 * SECOND_MS,
    );
    expect(faultyDriver.spent()).toBe(true);
    expect(await statusesOf(harness, rental)).toEqual(['Pending', 'Running', 'Unknown', 'Failed']);
    expect(await costBy(harness, rental)).toBe(billed);
    await reconcileUntil(harness, rental, { until: 'Terminated' });
  });

  it.each([
    { at: 'note strays', when: 'before' },
    { at: 'note strays', when: 'after' },
    { at: 'cutAccess', when: 'after' },
    { at: 'terminate', when: 'after' },
    { at: 'note reaping', when: 'before' },
    { at: 'note reaping', when: 'after' },
  ] as const)('$when $at: an orphan is still removed', async (sabotage) => {
    await makeOrphan(tenant.orgId);
    await advanceComparing(harness, createInventoryReconciler(harness), 60 * SECOND_MS);
    const faultyDriver = createFaultyDriver(harness);
    faultyDriver.plan(sabotage);
    await harness.advance(10 * SECOND_MS);
    await compareAll(createInventoryReconciler(harness, { faultyDriver })).catch(() =>
      harness.clock.advance(61 * SECOND_MS),
    );
    await advanceComparing(
      harness,
      createInventoryReconciler(harness, { holder: 'another' }),
      20 * SECOND_MS,
    );
    expect(faultyDriver.spent()).toBe(true);
    expect([await ownedIds(), await orphanRows()]).toEqual([[], []]);
  });
});

describe('concurrent reconcilers', () => {
  it('compare each cluster once per interval and repair once', async () => {
    const rental = await runningRental(harness, tenant);
    const all = Array.from({ length: 4 }, (_, index) =>
      createInventoryReconciler(harness, { holder: `w${String(index)}` }),
    );
    const together = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += LONG_INTERVAL_MS) {
        await harness.advance(LONG_INTERVAL_MS);
        const reports = await Promise.all(all.map(compareAll));
        expect(
          reports.flat().filter(({ clusterId }) => clusterId === harness.engines.live.clusterId),
        ).toHaveLength(1);
      }
    };
    await together(MINUTE_MS);
    harness.engines.live.controls.silenceEngine();
    await together(8 * MINUTE_MS);
    const unknown = await readRental(harness, rental);
    expect(unknown.status).toBe('Unknown');
    harness.engines.live.controls.heal();
    await together(LONG_INTERVAL_MS);
    expect(await statusesOf(harness, rental)).toEqual(['Pending', 'Running', 'Unknown', 'Running']);
    const back = await readRental(harness, rental);
    const unbilledMs = back.statusSince.getTime() - unknown.statusSince.getTime() - 5 * MINUTE_MS;
    const elapsedMs = harness.clock.nowMs() - (rental.startedAt?.getTime() ?? 0);
    expect(await costBy(harness, rental)).toBe(costOf(elapsedMs - unbilledMs));
  });

  it('discard an outdated comparison after a long pause', async () => {
    const rental = await runningRental(harness, tenant);
    await advanceComparing(harness, createInventoryReconciler(harness), 10 * SECOND_MS);
    const { promise: asleep, resolve: wake } = Promise.withResolvers<void>();
    const { promise: fell, resolve: fallAsleep } = Promise.withResolvers<void>();
    const sleeper = createInventoryReconciler(harness, {
      holder: 'sleeper',
      drivers: async (clusterId) => {
        const driver = await harness.drivers(clusterId);
        return new Proxy(driver, {
          get: (target, name) => {
            const value: unknown = Reflect.get(target, name, target);
            if (typeof value !== 'function') return value;
            if (name !== 'listOwned' || clusterId !== harness.engines.live.clusterId)
              return (value as () => unknown).bind(target);
            return async (signal: AbortSignal): ReturnType<ComputeDriver['listOwned']> => {
              const list = await target.listOwned(signal);
              fallAsleep();
              await asleep;
              return list;
            };
          },
        });
      },
      policy: { listTimeoutMs: 3_600_000 },
    });
    harness.engines.live.controls.silenceNode(await nodeNameOf(rental));
    await harness.advance(10 * SECOND_MS);
    const sleeping = compareAll(sleeper);
    await fell;
    await advanceComparing(
      harness,
      createInventoryReconciler(harness, { holder: 'awake' }),
      70 * SECOND_MS,
      35 * SECOND_MS,
    );
    harness.engines.live.controls.heal();
    await advanceComparing(harness, createInventoryReconciler(harness, { holder: 'awake' }), 10 * SECOND_MS);
    wake();
    const late = (await sleeping).find(({ clusterId }) => clusterId === harness.engines.live.clusterId);
    expect(late).toMatchObject({ repairs: [] });
    expect(await readRental(harness, rental)).toMatchObject({ status: 'Running', unhealthySince: null });
  });
});
