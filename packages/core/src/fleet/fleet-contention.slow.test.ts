import type { InventoryNode } from '@millrace/compute';
import { isFault } from '@millrace/platform/fault';
import type { Tx } from '@millrace/platform/db';
import { createRandom, fleetInvariantViolations, testIds, testLog, type Random } from '@millrace/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemAuditContext } from '../identity/index.ts';
import { markReleasing, releaseAllocation } from './placement/allocations.store.ts';
import { setGpuFaulty, updateProvider } from './admin/fleet-admin.service.ts';
import {
  clusterSetting,
  createFleetHarness,
  gpu,
  node,
  providerSetting,
  SECOND_MS,
  unreachable,
  type FleetHarness,
} from './fleet.fixture.ts';
import { applyFleetConfig } from './admin/fleet-config.ts';
import { announceMaintenance, sweepMaintenance } from './maintenance/maintenance.service.ts';
import { transitionNode } from './inventory/nodes.service.ts';
import { place } from './placement/placement.service.ts';
import type { Placement } from './placement/placement.ts';

/** Runs all code that takes locks in the fleet concurrently with random timing, as in a real installation. */

const ROUNDS = 60;
const NODES = 12;
const SEED = 4;
const cause = systemAuditContext('storm', 'live');

let harness: FleetHarness;
beforeAll(async () => {
  harness = await createFleetHarness(16);
});
afterAll(() => harness.drop());

const run = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
  harness.db.transaction({ name: 'storm', isolation: 'read committed' }, work);

/** Only faults are allowed; any other error fails the test. */
async function mayRefuse(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!isFault(error)) throw error;
  });
}

/** An inventory that sometimes changes, loses or hides something, or gets no response. */
function report(random: Random, cluster: string): readonly InventoryNode[] | null {
  if (random.chance(0.03)) return null;
  const nodes = Array.from({ length: NODES }, (_, index) => {
    const name = `${cluster}-${index}`;
    if (random.chance(0.02)) return unreachable(name);
    const gpus = Array.from({ length: 8 }, (_unused, slot) =>
      gpu(slot, { uuid: `GPU-${name}-${slot}-${random.chance(0.002) ? 'new' : 'old'}` }),
    );
    return node(
      name,
      random.chance(0.02) ? gpus.slice(1) : gpus,
      random.chance(0.05) ? { address: '10.0.0.1' } : {},
    );
  });
  return random.chance(0.05) ? nodes.slice(1) : nodes;
}

async function watch(random: Random, holder: string): Promise<void> {
  const sync = harness.worker(holder, { tuning: { silentMs: 3 * SECOND_MS } });
  for (let round = 0; round < ROUNDS; round += 1) {
    // Only one worker advances the clock, because two would set it back.
    if (holder === 'one') await harness.clock.advance(random.int(0, 2 * SECOND_MS));
    for (const id of await sync.tick()) {
      const cluster = random.pick(['a', 'b', 'c']);
      harness.engine(cluster).nodes = report(random, cluster);
      await sync.look(id);
    }
  }
  await sync.stop();
}

async function rent(random: Random): Promise<void> {
  const orgId = await harness.organisation();
  const held: Placement[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    if (held.length > 6 || random.chance(0.4)) {
      const [released] = held.splice(random.int(0, Math.max(0, held.length - 1)), 1);
      if (released === undefined) continue;
      if (random.chance(0.3)) await run((tx) => markReleasing(tx, orgId, released.allocationId));
      await run((tx) => releaseAllocation(tx, orgId, released.allocationId));
      continue;
    }
    const isGang = random.chance(0.2);
    const placing = run((tx) =>
      place(tx, {
        mode: 'live',
        offer: 'virtual-machine',
        region: 'eu',
        gpuType: 'h100',
        connectionType: 'infiniband',
        cuda: random.chance(0.5) ? 1208 : null,
        gpusPerNode: isGang ? 8 : random.int(1, 8),
        nodeCount: isGang ? random.int(2, 4) : 1,
        except: [],
        only: null,
        orgId,
        externalId: testIds.nextUuid(),
        holder: 'rental',
        ports: [{ internalPort: 22, protocol: 'tcp' }],
        freesAt: null,
      }),
    );
    await mayRefuse(placing.then((placement) => held.push(placement)));
  }
}

async function operate(random: Random): Promise<void> {
  const actor = { kind: 'operator', id: 'usr_storm' } as const;
  for (let round = 0; round < ROUNDS; round += 1) {
    const nodes = await harness.nodes();
    if (nodes.length === 0) continue;
    const { id, gpus } = random.pick(nodes);
    const to = random.weighted([
      [2, 'node_draining'],
      [12, 'node_ready'],
      [1, 'node_quarantined'],
    ] as const);
    await mayRefuse(run((tx) => transitionNode(tx, id, to, { reason: 'storm', actor })));
    const [first] = gpus;
    if (first === undefined || !random.chance(0.3)) continue;
    const mark = { faulty: first.state !== 'faulty', reason: 'storm' };
    await mayRefuse(run((tx) => setGpuFaulty(tx, cause, id, first.id, mark)));
  }
}

async function throwSwitches(random: Random): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const enabled = random.chance(0.9);
    await run((tx) => updateProvider(tx, cause, 'own', { enabled, reason: 'storm' }));
  }
}

const fleet = (...ports: readonly number[]) => [
  providerSetting(
    ['a', 'b', 'c'].map((name, index) =>
      clusterSetting(name, {
        connectionType: 'infiniband',
        ports: { first: 20_000, last: 20_100 + (ports[index] ?? 0) },
      }),
    ),
  ),
];

async function configure(random: Random): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const settings = fleet(random.int(0, 1), random.int(0, 1), random.int(0, 1));
    await applyFleetConfig(
      harness.db,
      settings.map((setting) => ({ ...setting, clusters: random.shuffle(setting.clusters) })),
    );
  }
}

async function maintain(random: Random): Promise<void> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const nodes = await harness.nodes();
    if (nodes.length > 0 && random.chance(0.1)) {
      const startsAt = new Date(harness.clock.nowMs() + random.int(0, 10) * SECOND_MS);
      const request = {
        nodeIds: random.shuffle(nodes.map(({ id }) => id)).slice(0, 5),
        startsAt,
        endsAt: new Date(startsAt.getTime() + random.int(1, 10) * SECOND_MS),
        summary: 'storm',
        drainBeforeMs: 5 * SECOND_MS,
      };
      await mayRefuse(run((tx) => announceMaintenance(tx, cause, request)));
    }
    await sweepMaintenance(harness.db, { log: testLog() });
  }
}

it('concurrent renting, polling, switching, configuring, draining and maintenance cause no deadlock, and every count is right', async () => {
  await applyFleetConfig(harness.db, fleet());
  const random = createRandom(SEED);
  let streams = 0;
  const stream = (): Random => random.fork((streams += 1));
  const first = harness.worker('first');
  for (const id of await first.tick()) {
    for (const name of ['a', 'b', 'c']) harness.engine(name).nodes = report(stream(), name);
    await first.look(id);
  }
  await first.stop();
  await Promise.all([
    watch(stream(), 'one'),
    watch(stream(), 'two'),
    ...Array.from({ length: 6 }, () => rent(stream())),
    operate(stream()),
    operate(stream()),
    throwSwitches(stream()),
    configure(stream()),
    maintain(stream()),
    maintain(stream()),
  ]);
  const client = await harness.database.connect();
  try {
    expect(await fleetInvariantViolations(client)).toEqual([]);
  } finally {
    await client.end();
  }
  const [facts] = await harness.rows<{ deadlocks: string; misplaced: number; rentals: number }>(`
    select (select deadlocks::text from pg_stat_database where datname = current_database()) as deadlocks,
           (select count(*)::int from allocations) as rentals,
           (select count(*)::int from node_capacity as capacity
              join nodes as node on node.id = capacity.node_id
              join clusters as cluster on cluster.id = capacity.cluster_id
              join providers as provider on provider.id = capacity.provider_id
             where ready <> (node.status = 'node_ready')
                or open <> (cluster.status = 'connected' and cluster.configured and provider.enabled)) as misplaced`);
  expect(facts).toMatchObject({ deadlocks: '0', misplaced: 0 });
  expect(facts?.rentals).toBeGreaterThan(ROUNDS);
});
