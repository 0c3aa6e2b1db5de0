import { systemClock } from '@millrace/platform/clock';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createFleetHarness, gpu, node, SECOND_MS, type FleetHarness } from './fleet.fixture.ts';

/** A whole cell in one cluster: more nodes than any engine is expected to have. */
const NODES = 10_000;
/** Limits for a slow, shared machine; the decision page has measured times. */
const FIRST_MS = 60_000;
const AGAIN_MS = 10_000;

let harness: FleetHarness;
beforeAll(async () => {
  harness = await createFleetHarness();
});
afterAll(() => harness.drop());

it('one poll stores 10 000 nodes with 80 000 GPUs, and an unchanged poll writes nothing', async () => {
  await harness.configure('a');
  const nodes = Array.from({ length: NODES }, (_, index) =>
    node(
      `node-${index}`,
      Array.from({ length: 8 }, (_unused, slot) => gpu(slot, { uuid: `GPU-${index}-${slot}` })),
    ),
  );
  harness.engine('a').nodes = nodes;
  const sync = harness.worker('one', { tuning: { leaseMs: 300_000 } });
  const id = (await sync.tick())[0];
  if (id === undefined) throw new Error('The cluster was not claimed.');
  const timed = async (): Promise<number> => {
    const startMs = systemClock.monotonicMs();
    expect((await sync.look(id)).outcome).toBe('read');
    return systemClock.monotonicMs() - startMs;
  };
  const firstMs = await timed();
  expect(
    await harness.rows('select count(*)::int as gpus, count(distinct node_id)::int as nodes from gpus'),
  ).toEqual([{ gpus: NODES * 8, nodes: NODES }]);
  const versions = `select (select max(xmin::text::bigint) from nodes)::text as nodes,
    (select max(xmin::text::bigint) from gpus)::text as gpus,
    (select max(xmin::text::bigint) from node_capacity)::text as capacity`;
  const before = await harness.rows(versions);
  await harness.clock.advance(10 * SECOND_MS);
  const againMs = await timed();
  expect(await harness.rows(versions)).toEqual(before);

  harness.engine('a').nodes = nodes.map((one, index) => (index === 7 ? node(one.name, [gpu(0)]) : one));
  await harness.clock.advance(10 * SECOND_MS);
  const changeMs = await timed();
  harness.engine('a').nodes = null;
  const silence = harness.worker('one', { tuning: { leaseMs: 300_000, silentMs: 0 } });
  const silenceStartMs = systemClock.monotonicMs();
  expect((await silence.look(id)).outcome).toBe('silent');
  const silenceMs = systemClock.monotonicMs() - silenceStartMs;
  process.stdout.write(
    `fleet scale: ${JSON.stringify({ nodes: NODES, firstMs, againMs, changeMs, silenceMs })}\n`,
  );
  expect(
    await harness.rows(`select count(*)::int as offline from nodes where status = 'node_offline'`),
  ).toEqual([{ offline: NODES }]);
  expect(firstMs).toBeLessThan(FIRST_MS);
  expect(againMs).toBeLessThan(AGAIN_MS);
});
