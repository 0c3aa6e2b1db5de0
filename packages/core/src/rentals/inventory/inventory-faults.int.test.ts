import type { ComputeDriver, MachineSpec } from '@millrace/compute';
import type { OrgId } from '@millrace/platform/ids';
import { createIdSource } from '@millrace/platform/ids';
import { testClock } from '@millrace/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { listNodes, transitionNode } from '../../fleet/index.ts';
import { mayHaveLostRow } from '../../restore/index.ts';
import { rentalsActor } from '../reconcile/reconcile-deps.ts';
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
import {
  createRentalHarness,
  MINUTE_MS,
  SECOND_MS,
  type RentalHarness,
  type Tenant,
} from '../model/rental.fixture.ts';
import type { Rental } from '../model/rental.ts';
import { allowOrphanRemoval } from './comparisons.store.ts';

let world: RentalHarness;
let tenant: Tenant;
beforeAll(async () => {
  world = await createRentalHarness({ lookEveryMs: 0 });
});
afterAll(() => world.drop());
beforeEach(async () => {
  tenant = await world.tenant();
  await advanceComparing(world, createInventoryReconciler(world), 10 * SECOND_MS);
});
afterEach(async () => {
  await expectConsistentInventory(world);
  await terminateAll(world);
});

const never = new AbortController().signal;
const ids = createIdSource({ clock: testClock(), cell: 1 });

const nodeNameOf = async (rental: Rental): Promise<string> => {
  const [machine] = await listMachines(world.db, rental.orgId, rental.id, 'all');
  return machine?.nodeName ?? expect.fail('There is no machine.');
};

/** A machine that nobody has written down. */
async function makeStray(orgId: OrgId, index = 0): Promise<string> {
  const externalId = ids.nextUuid();
  const wish: MachineSpec = {
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
  await world.engines.live.driver.create(wish, never);
  return externalId;
}

const ownedIds = async (): Promise<readonly string[]> =>
  (await world.engines.live.driver.listOwned(never)).machines.map(({ externalId }) => externalId);

async function resumeNode(name: string): Promise<void> {
  const { clusterId } = world.engines.live;
  await world.run(async (tx) => {
    const [node] = await listNodes(tx, { clusterId, name }, { limit: 1, after: null });
    if (node === undefined) expect.fail(`There is no node ${name}.`);
    await transitionNode(tx, node.id, 'node_ready', { reason: 'The machine is gone.', actor: rentalsActor });
  });
}

const strayRows = () => world.rows<{ external_id: string }>('select external_id from stray_machines');

describe('a machine that no rental knows', () => {
  it('is removed once two comparisons a minute apart have seen it, and no rental with it', async () => {
    const rental = await runningRental(world, tenant);
    const stray = await makeStray(tenant.orgId);
    const reconciler = createInventoryReconciler(world);
    await advanceComparing(world, reconciler, 60 * SECOND_MS);
    expect(await ownedIds()).toContain(stray);
    await advanceComparing(world, reconciler, 10 * SECOND_MS);
    expect(await ownedIds()).not.toContain(stray);
    expect(await strayRows()).toHaveLength(1);
    await advanceComparing(world, reconciler, 10 * SECOND_MS);
    expect(await strayRows()).toEqual([]);
    expect((await readRental(world, rental)).status).toBe('Running');
  });

  it('may belong to an organisation that is not known either', async () => {
    await makeStray(ids.next('org'));
    await advanceComparing(world, createInventoryReconciler(world), 80 * SECOND_MS);
    expect(await ownedIds()).toEqual([]);
  });

  it('is removed when it comes back after its rental has ended', async () => {
    const rental = await runningRental(world, tenant);
    const reconciler = createInventoryReconciler(world);
    world.engines.live.controls.removeNode(await nodeNameOf(rental));
    await advanceComparing(world, reconciler, 20 * SECOND_MS);
    await reconcileUntil(world, rental, { until: 'Terminated' });
    world.engines.live.controls.heal();
    expect(await ownedIds()).toHaveLength(1);
    await advanceComparing(world, reconciler, 80 * SECOND_MS);
    expect(await ownedIds()).toEqual([]);
  });

  it('is left alone with many others until a person says so', async () => {
    for (let index = 0; index < 6; index += 1) await makeStray(tenant.orgId, index);
    const reconciler = createInventoryReconciler(world);
    await advanceComparing(world, reconciler, 3 * MINUTE_MS, LONG_INTERVAL_MS);
    expect(await ownedIds()).toHaveLength(6);
    const until = new Date(world.clock.nowMs() + MINUTE_MS);
    await world.run((tx) => allowOrphanRemoval(tx, world.engines.live.clusterId, until));
    await advanceComparing(world, reconciler, 10 * SECOND_MS);
    expect(await ownedIds()).toHaveLength(1);
    await advanceComparing(world, reconciler, 10 * SECOND_MS);
    expect(await ownedIds()).toEqual([]);
  });

  it('and that was made in the lost time of a restore stays until an operator says so, and its node is quarantined', async () => {
    const from = world.clock.now();
    const stray = await makeStray(tenant.orgId);
    await world.advance(30 * MINUTE_MS);
    // The restore is confirmed while the cluster cannot be reached: the machine is first seen afterwards.
    const lost = { from, until: world.clock.now() };
    await world.advance(30 * MINUTE_MS);
    const reconciler = createInventoryReconciler(world, {
      mayHaveLostRow: (machine) => mayHaveLostRow(lost, machine),
    });
    await advanceComparing(world, reconciler, 3 * MINUTE_MS, LONG_INTERVAL_MS);
    expect(await ownedIds()).toEqual([stray]);
    const { clusterId } = world.engines.live;
    const nodes = await listNodes(world.db, { clusterId, name: 'node-4' }, { limit: 1, after: null });
    expect(nodes.map(({ status }) => status)).toEqual(['node_quarantined']);
    const until = new Date(world.clock.nowMs() + MINUTE_MS);
    await world.run((tx) => allowOrphanRemoval(tx, world.engines.live.clusterId, until));
    await advanceComparing(world, reconciler, 20 * SECOND_MS);
    expect(await ownedIds()).toEqual([]);
    await resumeNode('node-4');
  });

  it('is neither tried nor late while the database is not known to be the newest state', async () => {
    await makeStray(tenant.orgId);
    let isOpen = false;
    const reconciler = createInventoryReconciler(world, { mayRemove: () => isOpen });
    const until = new Date(world.clock.nowMs() + 30 * MINUTE_MS);
    await world.run((tx) => allowOrphanRemoval(tx, world.engines.live.clusterId, until));
    await advanceComparing(world, reconciler, 3 * MINUTE_MS, LONG_INTERVAL_MS);
    expect(await ownedIds()).toHaveLength(1);
    expect(await world.rows('select reap_begun_at from stray_machines')).toEqual([{ reap_begun_at: null }]);
    isOpen = true;
    await advanceComparing(world, reconciler, 20 * SECOND_MS);
    expect(await ownedIds()).toEqual([]);
  });

  it('that does not go is tried again', async () => {
    await makeStray(tenant.orgId);
    const saboteur = createFaultyDriver(world);
    const reconciler = createInventoryReconciler(world, { saboteur });
    saboteur.plan({ at: 'terminate', when: 'before', times: 2 });
    await advanceComparing(world, reconciler, 80 * SECOND_MS);
    expect(await ownedIds()).toHaveLength(1);
    await advanceComparing(world, reconciler, 20 * SECOND_MS);
    expect([await ownedIds(), saboteur.spent()]).toEqual([[], true]);
  });
});

/** A process that dies here, before or after what is named, once. */
const deaths: readonly InjectedFault[] = (
  ['claim comparison', 'repair rental', 'end comparison', 'listOwned', 'describe'] as const
).flatMap((at) => [
  { at, when: 'before' },
  { at, when: 'after' },
]);

describe('whoever compares may die anywhere', () => {
  it.each(deaths)('$when $at: a machine that is gone is found out about all the same', async (sabotage) => {
    const rental = await runningRental(world, tenant);
    const saboteur = createFaultyDriver(world);
    const reconciler = createInventoryReconciler(world, { saboteur });
    await advanceComparing(world, reconciler, 20 * SECOND_MS);
    const billed = await costBy(world, rental);
    world.engines.live.controls.removeNode(await nodeNameOf(rental));
    saboteur.plan(sabotage);
    await world.advance(10 * SECOND_MS);
    // It died, and its lease runs out.
    await compareAll(reconciler).catch(() => world.clock.advance(61 * SECOND_MS));
    await advanceComparing(world, createInventoryReconciler(world, { holder: 'another' }), 30 * SECOND_MS);
    expect(saboteur.spent()).toBe(true);
    expect(await statusesOf(world, rental)).toEqual(['Pending', 'Running', 'Unknown', 'Failed']);
    expect(await costBy(world, rental)).toBe(billed);
    await reconcileUntil(world, rental, { until: 'Terminated' });
  });

  it.each([
    { at: 'note strays', when: 'before' },
    { at: 'note strays', when: 'after' },
    { at: 'cutAccess', when: 'after' },
    { at: 'terminate', when: 'after' },
    { at: 'note reaping', when: 'before' },
    { at: 'note reaping', when: 'after' },
  ] as const)('$when $at: a machine that nobody knows goes all the same', async (sabotage) => {
    await makeStray(tenant.orgId);
    await advanceComparing(world, createInventoryReconciler(world), 60 * SECOND_MS);
    const saboteur = createFaultyDriver(world);
    saboteur.plan(sabotage);
    await world.advance(10 * SECOND_MS);
    await compareAll(createInventoryReconciler(world, { saboteur })).catch(() =>
      world.clock.advance(61 * SECOND_MS),
    );
    await advanceComparing(world, createInventoryReconciler(world, { holder: 'another' }), 20 * SECOND_MS);
    expect(saboteur.spent()).toBe(true);
    expect([await ownedIds(), await strayRows()]).toEqual([[], []]);
  });
});

describe('several that compare at once', () => {
  it('do each thing once, in turns', async () => {
    const rental = await runningRental(world, tenant);
    const all = Array.from({ length: 4 }, (_, index) =>
      createInventoryReconciler(world, { holder: `w${String(index)}` }),
    );
    const together = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += LONG_INTERVAL_MS) {
        await world.advance(LONG_INTERVAL_MS);
        const reports = await Promise.all(all.map(compareAll));
        expect(
          reports.flat().filter(({ clusterId }) => clusterId === world.engines.live.clusterId),
        ).toHaveLength(1);
      }
    };
    await together(MINUTE_MS);
    world.engines.live.controls.silenceEngine();
    await together(8 * MINUTE_MS);
    const unknown = await readRental(world, rental);
    expect(unknown.status).toBe('Unknown');
    world.engines.live.controls.heal();
    await together(LONG_INTERVAL_MS);
    expect(await statusesOf(world, rental)).toEqual(['Pending', 'Running', 'Unknown', 'Running']);
    const back = await readRental(world, rental);
    const unbilledMs = back.statusSince.getTime() - unknown.statusSince.getTime() - 5 * MINUTE_MS;
    const elapsedMs = world.clock.nowMs() - (rental.startedAt?.getTime() ?? 0);
    expect(await costBy(world, rental)).toBe(costOf(elapsedMs - unbilledMs));
  });

  it('that wake up late write nothing of what they saw before', async () => {
    const rental = await runningRental(world, tenant);
    await advanceComparing(world, createInventoryReconciler(world), 10 * SECOND_MS);
    const { promise: asleep, resolve: wake } = Promise.withResolvers<void>();
    const { promise: fell, resolve: fallAsleep } = Promise.withResolvers<void>();
    const sleeper = createInventoryReconciler(world, {
      holder: 'sleeper',
      drivers: async (clusterId) => {
        const driver = await world.drivers(clusterId);
        return new Proxy(driver, {
          get: (target, name) => {
            const value: unknown = Reflect.get(target, name, target);
            if (typeof value !== 'function') return value;
            if (name !== 'listOwned' || clusterId !== world.engines.live.clusterId)
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
    world.engines.live.controls.silenceNode(await nodeNameOf(rental));
    await world.advance(10 * SECOND_MS);
    const sleeping = compareAll(sleeper);
    await fell;
    await advanceComparing(
      world,
      createInventoryReconciler(world, { holder: 'awake' }),
      70 * SECOND_MS,
      35 * SECOND_MS,
    );
    world.engines.live.controls.heal();
    await advanceComparing(world, createInventoryReconciler(world, { holder: 'awake' }), 10 * SECOND_MS);
    wake();
    const late = (await sleeping).find(({ clusterId }) => clusterId === world.engines.live.clusterId);
    expect(late).toMatchObject({ repairs: [] });
    expect(await readRental(world, rental)).toMatchObject({ status: 'Running', troubleSince: null });
  });
});
