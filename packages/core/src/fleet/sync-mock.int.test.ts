import { createMockControls, createMockDriver, createInMemoryStore } from '@millrace/compute/mock';
import { defaultFleet } from '@millrace/platform/config';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFleetHarness, silentLogger, SECOND_MS, type FleetHarness } from './fleet.fixture.ts';
import { applyFleetConfig, createDriverPool } from './index.ts';

let harness: FleetHarness;
beforeEach(async () => {
  harness = await createFleetHarness();
});
afterEach(() => harness.drop());

it('the mock engine is polled like any other, and recovers after silent nodes and a silent engine', async () => {
  const { clock } = harness;
  const controls = createMockControls();
  const memory = createInMemoryStore();
  const drivers = createDriverPool({
    db: harness.db,
    log: silentLogger,
    connect: async ({ name }) => createMockDriver({ cluster: name, clock, memory, controls, listen: null }),
  });
  const sync = harness.worker('one', { drivers });
  await applyFleetConfig(harness.db, defaultFleet);
  const id = await harness.clusterId('mock');
  const watchFor = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 10 * SECOND_MS) {
      await clock.advance(10 * SECOND_MS);
      await sync.tick();
      await sync.look(id);
    }
  };
  const count = async (): Promise<Record<string, number>> => {
    const found = await harness.rows<{ status: string; nodes: number }>(
      'select status, count(*)::int as nodes from nodes group by status',
    );
    return Object.fromEntries(found.map(({ status, nodes }) => [status, nodes]));
  };
  await watchFor(10 * SECOND_MS);
  expect(await count()).toEqual({ node_ready: 16 });
  const kinds = await harness.rows(`select gpu_type, sum(gpus_free)::int as free from node_capacity
    where placeable and mode = 'test' group by gpu_type order by gpu_type`);
  expect(kinds).toEqual([
    { gpu_type: 'b200', free: 32 },
    { gpu_type: 'h100', free: 64 },
    { gpu_type: 'h200', free: 32 },
  ]);

  controls.silenceNode('mock-01');
  controls.removeNode('mock-02');
  await watchFor(20 * SECOND_MS);
  expect(await count()).toEqual({ node_ready: 14, node_offline: 2 });
  controls.silenceEngine();
  await watchFor(100 * SECOND_MS);
  expect(await count()).toEqual({ node_offline: 16 });
  controls.heal();
  await watchFor(10 * SECOND_MS);
  expect(await count()).toEqual({ node_ready: 16 });
});
